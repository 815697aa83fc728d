/** Structured log entries. Who writes them where is decided at the edge; what they may show is decided by the redactor there. */

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
export const logLevels: readonly LogLevel[] = ['debug', 'info', 'warning', 'error'];

export interface LogEntry {
  readonly level: LogLevel;
  /** Stable dotted name, for instance `stdio.noise`. */
  readonly event: string;
  /** One sentence for a person. */
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export type Log = (entry: LogEntry) => void;

export const silentLog: Log = () => {};
