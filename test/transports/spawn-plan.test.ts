import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../src/base/failure.ts';
import { spawnPlan, type SpawnRequest } from '../../src/transports/spawn-plan.ts';

function plan(command: string, args: readonly string[], files: readonly string[] = [], extra: Partial<SpawnRequest> = {}): ReturnType<typeof spawnPlan> {
  return spawnPlan({
    platform: 'win32', command, args, cwd: 'C:\\work', isFile: (file) => files.includes(file),
    environment: { Path: 'C:\\tools;"C:\\Program Files\\nodejs"', PathExt: '.COM;.EXE;.BAT;.CMD', SystemRoot: 'C:\\Windows' }, ...extra,
  });
}

/** What `cmd.exe` makes of a line outside of quotes: a caret takes the meaning of what follows. */
const afterFirstReading = (line: string): string => line.replace(/\^([^])/g, '$1');

test('spawnPlan() leaves a command alone on POSIX', () => {
  assert.deepEqual(plan('npx', ['-y', 'a b', '"%PATH%"'], [], { platform: 'linux' }), { file: 'npx', args: ['-y', 'a b', '"%PATH%"'], verbatim: false });
});

const found: readonly [title: string, command: string, files: readonly string[], file: string][] = [
  ['a program on the PATH', 'server', ['C:\\tools\\server.exe'], 'C:\\tools\\server.exe'],
  ['the first extension of PATHEXT first', 'server', ['C:\\tools\\server.com', 'C:\\tools\\server.exe'], 'C:\\tools\\server.com'],
  ['an extension that is there already', 'server.exe', ['C:\\tools\\server.exe'], 'C:\\tools\\server.exe'],
  ['an absolute path', 'C:\\x\\server.exe', ['C:\\x\\server.exe'], 'C:\\x\\server.exe'],
  ['a path relative to the working directory', '.\\bin\\server', ['C:\\work\\bin\\server.exe'], 'C:\\work\\bin\\server.exe'],
  ['a quoted entry of the PATH', 'node', ['C:\\Program Files\\nodejs\\node.exe'], 'C:\\Program Files\\nodejs\\node.exe'],
  ['never the working directory itself', 'server', ['C:\\work\\server.exe'], 'server'],
];
for (const [title, command, files, file] of found) {
  test(`spawnPlan() on Windows finds ${title}`, () => {
    assert.deepEqual(plan(command, ['a b'], files), { file, args: ['a b'], verbatim: false });
  });
}

test('spawnPlan() on Windows has its own idea of PATHEXT and PATH where there are none', () => {
  assert.equal(plan('C:\\x\\server', [], ['C:\\x\\server.bat'], { environment: {} }).file, 'cmd.exe');
  assert.equal(plan('server', [], ['C:\\x\\server.bat'], { environment: {} }).file, 'server');
});

const npx = 'C:\\Program Files\\nodejs\\npx.cmd';
const quoted: readonly [arg: string, seenByTheBatchFile: string][] = [
  ['plain', '"plain"'],
  ['two words', '"two words"'],
  ['', '""'],
  ['a&calc.exe', '"a&calc.exe"'],
  ['a" & calc.exe & "', '"a"" & calc.exe & """'],
  ['{"a":1}', '"{""a"":1}"'],
  ['ends with \\', '"ends with \\\\"'],
  ['back\\"quote', '"back\\\\""quote"'],
  ['C:\\dir\\file', '"C:\\dir\\file"'],
  ['|<>^!()', '"|<>^!()"'],
  ['100%', '"100%"'],
  ['%PATH%', '"%PATH%"'],
  ['http://h/a%20b%20c', '"http://h/a%20b%20c"'],
];
for (const [arg, seen] of quoted) {
  test(`spawnPlan() quotes ${JSON.stringify(arg)} for a batch file`, () => {
    const { file, args, verbatim } = plan('npx', [arg], [npx]);
    assert.equal(file, 'C:\\Windows\\System32\\cmd.exe');
    assert.equal(verbatim, true);
    assert.deepEqual(args.slice(0, 4), ['/d', '/v:off', '/s', '/c']);
    const line = args[4]!;
    assert.ok(line.startsWith('"') && line.endsWith('"'));
    const inner = line.slice(1, -1);
    // At the first reading nothing has a meaning: every character that could have one stands behind a caret.
    assert.doesNotMatch(inner.replace(/\^[^]/g, ''), /[&|<>^"%!()]/);
    assert.equal(afterFirstReading(inner), `"${npx}" ${seen}`);
    // At the second one the quotes are balanced, so that nothing stands outside of them.
    assert.equal((seen.match(/"/g) ?? []).length % 2, 0);
  });
}

for (const arg of ['line\nbreak', 'carriage\rreturn', 'nul\0byte', '%PATH:a=b%', '%X:~0,1%']) {
  test(`spawnPlan() refuses ${JSON.stringify(arg)} for a batch file and passes it to a program`, () => {
    assert.throws(() => plan('npx', [arg], [npx]), (error) => isFailure(error) && error.code === 'SPAWN_FAILED' && /"npx"/.test(error.message) && /directly/.test(error.hint!));
    assert.deepEqual(plan('node', [arg], ['C:\\tools\\node.exe']).args, [arg]);
  });
}
