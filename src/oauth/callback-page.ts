/** The page a browser ends on: complete in itself, no script, nothing from the request or the server in it but the escaped name of the entry. */

export type PageKind = 'signed-in' | 'not-signed-in' | 'stray';

const WORDS: Readonly<Record<PageKind, readonly [title: string, mark: string, next: string]>> = {
  'signed-in': ['You are signed in', 'M5 12.5l4.6 4.6L19 7.6', 'You can close this tab and go back to your terminal.'],
  'not-signed-in': ['Sign-in did not complete', 'M12 5v9M12 18.4v.2', 'Close this tab and go back to your terminal: it says why, and what to do next.'],
  stray: ['Another sign-in is waiting', 'M9 9.2a3 3 0 1 1 4.3 2.7c-.9.4-1.3 1-1.3 2.1M12 18.4v.2', 'Use the tab that was opened last, or start again from your terminal.'],
};

// Marks are drawn, not typed: not every font has them, and a screen reader would read them aloud.
const STYLE = `
:root { color-scheme: light dark; --ground: #f4f6f8; --card: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --mark: #9a4b00; --tint: #fdf2e3; }
.good { --mark: #1a7f37; --tint: #e6f6ea; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1318; --card: #171c23; --ink: #e6edf3; --soft: #a3aebb; --line: #2d343d; --mark: #e3a84f; --tint: #2b2318; }
  .good { --mark: #4ac26b; --tint: #14291b; }
}
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; display: grid; place-items: center; padding: 24px 16px; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: 100%; max-width: 27rem; padding: 40px 32px 28px; border: 1px solid var(--line); border-radius: 16px; background: var(--card); text-align: center; }
svg { width: 56px; height: 56px; padding: 14px; margin-bottom: 20px; border-radius: 50%; background: var(--tint); fill: none; stroke: var(--mark); stroke-width: 2.4; stroke-linecap: round; stroke-linejoin: round; }
h1 { font-size: 1.35rem; line-height: 1.3; margin-bottom: 10px; text-wrap: balance; }
p { color: var(--soft); text-wrap: balance; }
p + p { margin-top: 10px; }
strong { color: var(--ink); overflow-wrap: anywhere; }
footer { margin-top: 28px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem; }
`;

export function callbackPage(kind: PageKind, server: string): string {
  const [title, mark, next] = WORDS[kind];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · zuno-lite</title>
<style>${STYLE}</style>
</head>
<body>
<main${kind === 'signed-in' ? ' class="good"' : ''}>
<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${mark}"/></svg>
<h1>${title}</h1>
<p>MCP server <strong>${escapeHtml(server)}</strong></p>
<p>${next}</p>
<footer>zuno-lite</footer>
</main>
</body>
</html>
`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
