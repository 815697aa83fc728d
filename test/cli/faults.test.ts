import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processFiles, waitUntilGone } from '../support/process.ts';
import { allowAll, fixture, sandbox } from './support.ts';

interface Fault {
  readonly why: string;
  readonly flags?: readonly string[];
  readonly args: readonly string[];
  readonly status: number;
  readonly stdout?: RegExp;
  readonly says?: RegExp;
  /** More of the entry. */
  readonly entry?: object;
}

/** What servers do wrong, and what a person sees of it. Whatever it is, nothing stays behind. */
const faults: readonly Fault[] = [
  { why: 'thirty-one lines of junk before the first message', flags: ['--noise-before=31'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 0, stdout: /^2\n$/ },
  { why: 'thirty-two lines of junk before the first message', flags: ['--junk-at-start=32'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 5, says: /32 lines/ },
  { why: 'thirty-two empty lines before the first message', flags: ['--junk-at-start=32', '--blank-noise'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 5, says: /32 lines/ },
  { why: 'five thousand lines of junk in the middle', args: ['call', 'fs_junk', 'lines=5000'], status: 0 },
  { why: 'a line of 65 MiB', args: ['call', 'fs_endless_line', `bytes=${65 * 1024 * 1024}`], status: 8, says: /67108864 bytes/ },
  { why: 'a flood of stderr', flags: ['--stderr-flood'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 0, stdout: /^2\n$/ },
  { why: 'a stderr line of 100 KiB', args: ['call', 'fs_stderr', 'bytes=102400'], status: 0 },
  { why: 'deaf ears for signals and the end of input', flags: ['--ignores-eof', '--ignores-signals', '--wrapper', '--helpers=stubborn,setsid,double-fork'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 0, stdout: /^2\n$/ },
  { why: 'two answers to one request', args: ['call', 'fs_twice'], status: 0 },
  { why: 'an answer with a string for a number', args: ['call', 'fs_string_id'], status: 0 },
  { why: 'a closed stdout and a living process', args: ['call', 'fs_close_output'], status: 8, says: /closed its output/ },
  { why: 'half an answer and the end', args: ['call', 'fs_crash_half'], status: 8, says: /repeat {2}not before you have looked/ },
  { why: 'a last answer without line end', args: ['call', 'fs_reply_and_exit'], status: 0 },
  { why: 'no answer at all', entry: { timeout: 300 }, args: ['call', 'fs_hang'], status: 8, says: /no answer (came )?within 3\d\d ms/ },
  { why: 'bad tools among good ones', flags: ['--tools=echo', '--bad-tool'], args: ['tools'], status: 0, stdout: /fs_echo/, says: /left out/ },
  { why: 'a cursor that comes again', flags: ['--repeated-cursor'], args: ['tools'], status: 5, says: /came twice/ },
  { why: 'pages without end', flags: ['--endless-pages'], args: ['tools'], status: 5, says: /1000 pages/ },
  { why: 'an error for its list', flags: ['--list-fails-after=0'], args: ['tools'], status: 5, says: /tools\/list|list tools/ },
  { why: 'a silent probe', flags: ['--silent-on-probe'], entry: { protocol: 'legacy' }, args: ['call', 'fs_add', 'a=1', 'b=1'], status: 0, stdout: /^2\n$/ },
  { why: 'death on the probe', flags: ['--exits-on-probe'], args: ['call', 'fs_add', 'a=1', 'b=1'], status: 0, stdout: /^2\n$/ },
];

for (const { why, flags = [], args, status: expected, stdout: shows, says, entry } of faults) {
  test(`a server with ${why} ends the command with status ${expected} and leaves nothing`, async (t) => {
    const files = processFiles(t);
    const { run, config } = sandbox(t);
    config({ mcp: { fs: { ...fixture(...flags, `--pids=${files.pidsFile}`), ...entry } }, ...allowAll });
    const { status, stdout, stderr } = await run(args);
    assert.equal(status, expected, stderr + stdout);
    if (shows !== undefined) assert.match(stdout, shows);
    if (says !== undefined) assert.match(stderr, says);
    if (expected !== 0) for (const row of ['stage', 'cause', 'repeat', 'origin', 'next']) assert.match(stderr, new RegExp(`^ +${row} +\\S`, 'm'), stderr);
    assert.doesNotMatch(stderr, /^ +at /m, 'no stack trace');
    assert.ok(files.pids().length > 0);
    await waitUntilGone(files.pids());
  });
}
