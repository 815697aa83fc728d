/**
 * The servers of one host and all that they started. One object per host owns the live trees, so that every way out of the
 * host can end them: `end` of each tree, `close` of the object, `killAllSync` when nothing can be awaited any more, and the
 * watchdog when the host gets no chance at all.
 */
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import type { CloseReport } from '../jsonrpc/transport.ts';
import { endTree, endTreesSync, type Tree } from './kill-ladder.ts';
import { launch, startWatchdog, type ProcessRequest } from './process.ts';
import { nativeProcessSystem, type ProcessSystem } from './process-table.ts';
import { createWatchdog } from './watchdog.ts';

export interface Exit { readonly code: number | null; readonly signal: string | null }

export interface ServerProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  /** Exited, and all its output was read. Waits for whoever else holds the pipes. */
  readonly drained: Promise<void>;
  exit(): Exit | undefined;
  /** Ends the whole tree. Idempotent, never rejects; starts by itself when the process exits. */
  end(patienceMs: number): Promise<CloseReport>;
}

export interface ProcessTrees {
  /** Rejects with `SPAWN_FAILED` when the system refuses, with `CONNECTION_CLOSED` once `close` was asked for. */
  start(request: ProcessRequest): Promise<ServerProcess>;
  /** Trees of which something may still live. */
  readonly size: number;
  /** For the `exit` event and for a second signal: blocks up to about 650 ms until nothing lives. */
  killAllSync(): void;
  /** Ends what still lives, then the watchdog. Idempotent. */
  close(): Promise<void>;
  readonly watchdogPid: number | undefined;
}

export interface ProcessTreesOptions {
  /** The host's: the watchdog finds its programs on this PATH. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly system?: ProcessSystem;
  /** Default: on, where there is a `/bin/sh`. */
  readonly watchdog?: boolean;
}

type LiveTree = Tree & { end(patienceMs: number): Promise<CloseReport> };

export function createProcessTrees(options: ProcessTreesOptions = {}): ProcessTrees {
  const system = options.system ?? nativeProcessSystem();
  const windows = system.platform === 'win32';
  // Unique among hosts, no secret: loading `node:crypto` for it would cost every start.
  const hostId = `${process.pid.toString(36)}x${Date.now().toString(36)}x${Math.random().toString(36).slice(2)}`;
  const live = new Set<LiveTree>();
  const watchdog = options.watchdog === false || windows ? undefined : createWatchdog(hostId, startWatchdog(options.environment?.['PATH']));
  let started = 0, closing = false;

  async function start(request: ProcessRequest): Promise<ServerProcess> {
    if (closing) throw refusedWhileClosing(request.command);
    const marker = `${hostId}.${++started}.`;
    const child = await launch(request, marker, system.platform);
    const pid = child.pid!;
    let exit: Exit | undefined, ending: Promise<CloseReport> | undefined;
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => {
        exit = { code, signal };
        resolve(exit);
        void end(0);
      });
    });
    let startedAt: string | undefined;
    const tree: LiveTree = { pid, marker, exited, get started() { return (startedAt ??= exit === undefined ? system.table.startOf(pid) : undefined); }, hasExited: () => exit !== undefined, end, endInput: (now) => { if (now) child.stdin.destroy(); else child.stdin.end(); } };
    function end(patienceMs: number): Promise<CloseReport> {
      ending ??= endTree(tree, system, patienceMs).finally(() => {
        live.delete(tree);
        watchdog?.remove(pid);
        // What cannot be ended must not hold the host.
        child.unref();
      });
      return ending;
    }
    live.add(tree);
    if (closing) {
      await end(0);
      throw refusedWhileClosing(request.command);
    }
    // Not before the server had its turn: the shell must not delay its start. Killed in between, a host leaves it to the end of stdin.
    if (watchdog !== undefined) setTimeout(() => { if (live.has(tree)) watchdog.add(pid, tree.started); }, limits.watchdogDelayMs).unref();
    return {
      pid, stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exited, end, exit: () => exit,
      drained: new Promise((resolve) => { child.once('close', () => resolve()); }),
    };
  }

  return {
    start,
    get size() { return live.size; },
    killAllSync: () => endTreesSync([...live], system),
    async close() {
      closing = true;
      await Promise.all([...live].map((tree) => tree.end(0)));
      watchdog?.stop();
    },
    get watchdogPid() { return watchdog?.pid; },
  };
}

function refusedWhileClosing(command: string): Failure<'CONNECTION_CLOSED'> {
  return new Failure('CONNECTION_CLOSED', `Cannot start "${command}": this host is closing`, { stage: 'close', details: {}, recovery: 'retryable' });
}
