import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowAll, demoServer, fixture, sandbox } from './support.ts';

const demo = { type: 'local', command: [process.execPath, demoServer] };

test('tools lists signatures with what the policy says; --all adds the denied ones and why', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { demo }, permission: { rules: { demo_add: 'allow', demo_erase: 'deny' } } });
  const { status, stdout, stderr } = await run(['tools']);
  assert.equal(status, 0);
  assert.match(stdout, /^TOOL\tMAY\tDESCRIPTION$/m);
  assert.match(stdout, /^demo_add\(a: number, b: number\)\tallow\tAdds two numbers\.$/m);
  assert.match(stdout, /^demo_note\(text: string, tags\?: string\[\]\)\task\t/m);
  assert.doesNotMatch(stdout, /demo_erase/);
  assert.match(stderr, /1 more kept out by the policy; --all shows them/);
  const all = await run(['tools', 'demo', '--all']);
  assert.match(all.stdout, /^demo_erase\(\)\tdeny\t.*demo_erase.*\tErases all notes\.$/m);
  const document = (await run(['tools', '--json'])).json();
  assert.deepEqual([document.tools.length, document.denied, document.tools[0].id, document.tools[0].effect, document.tools[0].inputSchema], [5, 1, 'demo_add', 'allow', undefined]);
});

test('tools --schema shows all of one tool, with a call to copy', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { demo } });
  const { stdout } = await run(['tools', 'demo.note', '--schema']);
  assert.match(stdout, /^demo_note\(text: string, tags\?: string\[\]\) {2}ask/);
  assert.match(stdout, /^ {2}input schema\n {2}\{\n/m);
  assert.match(stdout, /example {2}zuno-lite call demo_note text=TEXT$/m);
  assert.match((await run(['tools', 'demo_add', '--schema'])).stdout, /output schema/);
  const [tool] = (await run(['tools', 'demo_add', '--schema', '--json'])).json().tools;
  assert.deepEqual(tool.inputSchema.required, ['a', 'b']);
  assert.equal(typeof tool.fingerprint, 'string');
});

test('tools takes a pattern, and says so when nothing fits it', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { demo }, ...allowAll });
  assert.deepEqual((await run(['tools', 'demo_*e', '--json'])).json().tools.map((one: any) => one.id), ['demo_note', 'demo_erase', 'demo_picture']);
  assert.match((await run(['tools', 'x*'])).stderr, /No tool fits "x\*"/);
  assert.match((await run(['tools', 'demo_ad'])).stderr, /did you mean demo_add/);
  assert.equal((await run(['tools', ''])).status, 2);
});

test('a server that fails does not hide the others; it and what was left out are told on stderr', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { good: fixture('--tools=echo', '--bad-tool'), bad: { type: 'local', command: ['no-such-program-zl'] } } });
  const { status, stdout, stderr } = await run(['tools']);
  assert.equal(status, 0);
  assert.match(stdout, /^good_echo/m);
  assert.match(stderr, /^good: tool ".*" is left out: /m);
  assert.match(stderr, /^bad: Cannot start/m);
  const document = (await run(['tools', '--json'])).json();
  assert.equal(document.ok, true);
  assert.equal(document.failures[0].error.code, 'SPAWN_FAILED');
  assert.ok(document.dropped.length > 0);
});

test('tools fails when nothing at all could be asked, or the one named server could not', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { bad: { type: 'local', command: ['no-such-program-zl'] }, worse: fixture('--exits-at-once=3') } });
  const both = await run(['tools']);
  assert.equal(both.status, 4);
  assert.match(both.stderr, /^worse: /m);
  assert.match(both.stderr, /^error: Cannot start/m);
  assert.equal((await run(['tools', '--json'])).json().failures.length, 2);
  assert.equal((await run(['tools', 'bad', '--json'])).json().error.code, 'SPAWN_FAILED');
});

test('names that had to be changed are told', async (t) => {
  const { run, config } = sandbox(t);
  config({ mcp: { good: fixture('--tools=x.y,x/y') } });
  const { stderr } = await run(['tools']);
  assert.match(stderr, /good: tool "x[./]y" is called good_/);
});

test('tools without servers says what to do', async (t) => {
  const { status, stdout, stderr } = await sandbox(t).run(['tools']);
  assert.deepEqual([status, stdout], [0, '']);
  assert.match(stderr, /zuno-lite demo/);
});
