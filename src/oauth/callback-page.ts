/** The page a browser ends on: complete in itself, no script, nothing from the request or the server in it but the escaped name of the entry. */

export type PageKind = 'signed-in' | 'not-signed-in' | 'stray';

const WORDS: Readonly<Record<PageKind, readonly [title: string, mark: string, next: string]>> = {
  'signed-in': ['You are signed in', '&#10003;', 'You can close this tab and go back to your terminal.'],
  'not-signed-in': ['Sign-in did not complete', '!', 'Close this tab and go back to your terminal: it says why, and what to do next.'],
  stray: ['This is not the sign-in that is waiting', '?', 'Use the tab that was opened last, or start again from your terminal.'],
};

const STYLE = `
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --good: #1a7f37; --bad: #b35900; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1318; --card: #171c23; --ink: #e6edf3; --soft: #9aa5b1; --line: #2d343d; --good: #4ac26b; --bad: #e3a84f; } }
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; display: grid; place-items: center; padding: 24px; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: 100%; max-width: 26rem; padding: 36px 32px; border: 1px solid var(--line); border-radius: 14px; background: var(--card); text-align: center; }
.mark { display: inline-grid; place-items: center; width: 52px; height: 52px; margin-bottom: 18px; border: 2px solid var(--bad); border-radius: 50%; color: var(--bad); font-size: 26px; font-weight: 600; line-height: 1; }
.good { border-color: var(--good); color: var(--good); }
h1 { font-size: 1.3rem; line-height: 1.3; margin-bottom: 8px; }
p { color: var(--soft); }
p + p { margin-top: 8px; }
strong { color: var(--ink); overflow-wrap: anywhere; }
footer { margin-top: 24px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem; }
`;

export function callbackPage(kind: PageKind, server: string): string {
  const [title, mark, next] = WORDS[kind];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · zuno-lite</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<div class="mark${kind === 'signed-in' ? ' good' : ''}" aria-hidden="true">${mark}</div>
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
