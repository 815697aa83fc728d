/** A long call as one live line on stderr; nothing at all where stderr is no terminal. */
import { now } from '../base/deadline.ts';
import type { Progress } from '../mcp/types.ts';
import type { Line } from './span.ts';
import type { Terminal } from './terminal.ts';

const EVERY_MS = 100;
const FIRST_MS = 300;
const BAR = 20;

export const seconds = (ms: number): string => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1000) % 60} s`);

/** `docs_index · 5/10 · [#####-----] · reading · 1.2 s`: what matters most stands where a narrow terminal still shows it. */
export function progressText(label: string, progress: Progress | undefined, elapsedMs: number): string {
  const parts = [label];
  if (progress !== undefined) {
    const { progress: done, total, message } = progress;
    if (total !== undefined && total > 0) {
      const filled = Math.round(Math.min(1, Math.max(0, done / total)) * BAR);
      parts.push(`${done}/${total}`, `[${'#'.repeat(filled)}${'-'.repeat(BAR - filled)}]`);
    } else parts.push(String(done));
    if (message !== undefined) parts.push(message);
  }
  return [...parts, seconds(elapsedMs)].join(' · ');
}

/**
 * A line that is made anew from what is the case, once waiting shows; with `more`, and on a terminal of its own, several lines around it.
 * Returns how to take it away.
 */
export function showWaiting(terminal: Terminal, text: () => string, more?: (line: string, width: number) => readonly Line[]): () => void {
  const startedAt = now();
  const clock = setInterval(() => {
    const elapsedMs = now() - startedAt;
    if (elapsedMs < FIRST_MS) return;
    const line = `${text()} · ${seconds(elapsedMs)}`;
    // Where stdout is read by something else, the block would run over what that shows.
    if (more === undefined || terminal.width === Infinity) terminal.live(line); else terminal.liveLines((width) => more(line, width));
  }, EVERY_MS);
  clock.unref();
  return () => {
    clearInterval(clock);
    terminal.live('');
  };
}

export interface LiveProgress {
  update(progress: Progress): void;
  /** Takes the line away and stops the clock. */
  end(): void;
}

/** Draws at most ten times a second; shows the waiting time when the server tells nothing. */
export function showProgress(terminal: Terminal, label: string): LiveProgress {
  const startedAt = now();
  let latest: Progress | undefined;
  let drawnAt = -Infinity;
  const draw = (): void => {
    drawnAt = now();
    terminal.live(progressText(label, latest, drawnAt - startedAt));
  };
  const clock = setInterval(() => { if (latest !== undefined || now() - startedAt >= FIRST_MS) draw(); }, EVERY_MS);
  clock.unref();
  return {
    update(progress) {
      latest = progress;
      if (now() - drawnAt >= EVERY_MS) draw();
    },
    end() {
      clearInterval(clock);
      terminal.live('');
    },
  };
}
