/**
 * Ends the servers of a host that was killed with SIGKILL and could do nothing itself (POSIX). One `/bin/sh` per host reads a
 * pipe that only the host holds: each started group is a line in, each ended one a line out. When the pipe breaks with groups
 * left, the servers have seen the end of their input too; they get a moment for that, then TERM, then KILL.
 *
 * It is a session of its own, ignores the signals a terminal sends, holds nothing of the host's but that pipe, and does not
 * keep the host's event loop alive. A shell, because it costs under a megabyte where a second Node costs forty.
 */
import type { Writable } from 'node:stream';

/** Called with `/bin/sh` and its arguments; `undefined` when it could not be started. */
export type StartWatchdog = (file: string, args: readonly string[]) => { readonly pid: number | undefined; readonly input: Writable; onExit(listener: () => void): void } | undefined;

export interface Watchdog {
  readonly pid: number | undefined;
  /** `started` is the start time of the group's leader as Linux counts it, or undefined elsewhere. */
  add(group: number, started: string | undefined): void;
  remove(group: number): void;
  /** Lets it end; what is still listed is ended by it. */
  stop(): void;
}

/**
 * `$1` is the host's part of the tree marker. On Linux whoever carries it is found in /proc, wherever it moved to; a group
 * whose leader wiped its environment is recognized by its leader's start time. Elsewhere the groups are all there is.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM PIPE
live=
while read -r sign group started; do
  rest=
  for one in $live; do [ "\${one%%:*}" = "$group" ] || rest="$rest $one"; done
  [ "$sign" = + ] && rest="$rest $group:$started"
  live=$rest
done
[ "$live" ] || exit 0
pause() { sleep "$1" 2>/dev/null || sleep 1; }
stat() {
  read -r line < "/proc/$1/stat" || return 1
  set -- \${line##*) }
  state=$1 group=$3
  shift 19
  began=$1
}
look() {
  pids= groups=
  if [ -r /proc/self/stat ]; then
    for file in $(grep -lsF -e "$id" /proc/[0-9]*/environ); do
      pid=\${file#/proc/} pid=\${pid%/environ}
      stat "$pid" && [ "$state" != Z ] && pids="$pids $pid" groups="$groups $group"
    done
    for one in $live; do
      stat "\${one%%:*}" && [ "$state" != Z ] && [ "$began" = "\${one#*:}" ] && groups="$groups $group"
    done
  else
    for one in $live; do kill -s 0 -- "-\${one%%:*}" && groups="$groups \${one%%:*}"; done
  fi
  [ "$pids$groups" ]
} 2>/dev/null
strike() {
  struck=
  for group in $groups; do
    case "$struck " in *" $group "*) continue ;; esac
    struck="$struck $group"
    kill -s "$1" -- "-$group"
  done
} 2>/dev/null
id=$1
pause 0.25
look || exit 0
strike TERM
for round in 1 2 3; do pause 0.2; look || exit 0; done
for round in 1 2 3; do strike KILL; pause 0.05; look || exit 0; done
`;

/** Starts the shell with the first group and again if it is gone when another group comes. */
export function createWatchdog(hostId: string, start: StartWatchdog): Watchdog {
  const groups = new Map<number, string>();
  let running: ReturnType<StartWatchdog>;
  const write = (line: string): void => { running?.input.write(`${line}\n`); };
  return {
    get pid() { return running?.pid; },
    add(group, started) {
      groups.set(group, `+ ${group} ${started ?? '-'}`);
      if (running !== undefined) { write(groups.get(group)!); return; }
      const shell = start('/bin/sh', ['-c', WATCHDOG_SCRIPT, 'zuno-lite-watchdog', hostId]);
      running = shell;
      // Writing to a shell that is gone fails late and means nothing: the next group starts another.
      shell?.input.on('error', () => {});
      shell?.onExit(() => { if (running === shell) running = undefined; });
      for (const line of groups.values()) write(line);
    },
    remove(group) { if (groups.delete(group)) write(`- ${group}`); },
    stop() {
      groups.clear();
      running?.input.end();
      running = undefined;
    },
  };
}
