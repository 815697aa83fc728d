import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { limits } from '../../../src/base/limits.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import { readSkills, skillReader, verifiedFile } from '../../../src/mcp/skills.ts';
import type { Answers, Client, Skill } from '../../../src/mcp/types.ts';
import { failureOf } from '../../support/http-client.ts';
import { createScriptedPeer, type ScriptedPeer } from '../../support/scripted-peer.ts';

const MAIN = 'skill://acme/pdf/SKILL.md', FORMS = 'skill://acme/pdf/references/FORMS.md';
const text = '---\nname: pdf\ndescription: Works with PDF\nmetadata:\n  version: "2.1"\n---\n\nDo it.\n';
const forms = 'Forms: é\n';
const sha = (content: string | Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
const file = (uri: string, content: string): JsonObject => ({ uri, digest: sha(content), size: Buffer.byteLength(content) });
const entry = (more: JsonObject = {}): JsonObject => ({
  uri: MAIN, frontmatter: { description: 'Works with PDF', name: 'pdf', metadata: { version: '2.1' } }, resources: [file(MAIN, text), file(FORMS, forms)], ...more,
});
const skill = entry() as unknown as Skill;

interface Served { readonly contents?: readonly JsonObject[]; readonly skill?: JsonObject; readonly extensions?: JsonObject }

/** A client of a server that serves one skill. */
async function connected(t: TestContext, served: Served = {}, answers: Answers = {}): Promise<{ readonly client: Client; readonly peer: ScriptedPeer; methods(): (string | undefined)[] }> {
  const complete = (result: JsonObject): { readonly result: JsonObject } => ({ result: { resultType: 'complete', ttlMs: 500, cacheScope: 'public', ...result } });
  const peer = createScriptedPeer({ answers: {
    'server/discover': () => complete({ supportedVersions: ['2026-07-28'], capabilities: { resources: {}, extensions: served.extensions ?? { 'io.modelcontextprotocol/skills': {} } } }),
    'skills/list': ({ params }) => complete(params?.['cursor'] === undefined ? { skills: [served.skill ?? entry()], nextCursor: 'p2' } : { skills: [{ uri: 'skill://x/SKILL.md' }] }),
    'skills/get': () => complete({ skill: served.skill ?? entry() }),
    'resources/read': ({ params }) => complete({ contents: served.contents ?? [{ uri: params?.['uri'], text: params?.['uri'] === MAIN ? text : forms }] }),
  } });
  const client = await connectClient({ transport: () => peer.transport, clientInfo: { name: 'test', version: '1' }, answers });
  t.after(() => client.close());
  return { client, peer, methods: () => peer.sent.map((one) => one.method).filter((method) => method !== 'server/discover') };
}

test('listSkills() joins pages, leaves out what is no skill with the reason, and reads no file', async (t) => {
  const { client, methods } = await connected(t);
  const { items, dropped, ttlMs, cacheScope } = await client.listSkills();
  assert.deepEqual(items, [entry()]);
  assert.deepEqual(dropped, [{ name: 'skill://x/SKILL.md', reason: 'its frontmatter is not an object' }]);
  assert.deepEqual([ttlMs, cacheScope], [500, 'public']);
  assert.deepEqual(methods(), ['skills/list', 'skills/list']);
});

test('the methods are used only where the server declares the extension', async (t) => {
  const { client, methods } = await connected(t, { extensions: {} });
  assert.deepEqual((await client.listSkills()).items, []);
  assert.equal((await failureOf(client.getSkill(MAIN))).code, 'CAPABILITY_MISSING');
  assert.deepEqual(methods(), []);
});

test('getSkill() takes the entry of the skill that was asked for, and no other', async (t) => {
  const { client, peer } = await connected(t);
  assert.deepEqual(await client.getSkill(MAIN), entry());
  assert.deepEqual(peer.sent.at(-1)?.params?.['uri'], MAIN);
  assert.match((await failureOf(client.getSkill('skill://other/SKILL.md'))).message, /another skill/);
  assert.throws(() => skillReader(MAIN)({ skill: [] }), /cannot be used: it is not an object/);
  assert.throws(() => skillReader(MAIN)({ skill: entry({ resources: undefined }) }), /neither a list nor "dynamic"/);
});

test('readSkillFile() gives what is as promised: text, bytes, and files of dynamic skills', async (t) => {
  const { client } = await connected(t);
  assert.equal((await client.readSkillFile(skill, MAIN)).text, text);
  assert.equal((await client.readSkillFile(skill, FORMS)).text, forms);
  const blob = Buffer.from(forms).toString('base64');
  const bytes = await connected(t, { contents: [{ uri: FORMS, blob }] });
  assert.equal((await bytes.client.readSkillFile(skill, FORMS)).blob, blob);
  const dynamic = entry({ resources: 'dynamic' }) as unknown as Skill;
  assert.equal((await client.readSkillFile(dynamic, MAIN)).text, text);
  assert.equal((await client.readSkillFile(dynamic, 'skill://acme/pdf/other.md')).text, forms);
});

const same = text.length;
for (const [what, contents, uri, problem] of [
  ['of another size', [{ uri: MAIN, text: `${text}more` }], MAIN, new RegExp(`its size is ${same + 4} bytes instead of ${same}`)],
  ['with other bytes', [{ uri: MAIN, text: text.replace('Do it', 'Do IT') }], MAIN, /its digest is not the one of the entry/],
  ['of another uri', [{ uri: FORMS, text }], MAIN, /holds another file/],
  ['that is missing', [], MAIN, /holds 0 files/],
  ['that is two', [{ uri: MAIN, text }, { uri: MAIN, text }], MAIN, /holds 2 files/],
] as const) {
  test(`readSkillFile() refuses a file ${what}`, async (t) => {
    const { client } = await connected(t, { contents });
    const failure = await failureOf(client.readSkillFile(skill, uri));
    assert.deepEqual([failure.code, failure.recovery], ['PROTOCOL_VIOLATION', 'blocked']);
    assert.match(failure.message, problem);
    assert.match(failure.message, /^Cannot use "skill:\/\/acme\/pdf\/SKILL\.md" of the skill "pdf": /);
  });
}

test('readSkillFile() does not even ask for a file that the skill does not list', async (t) => {
  const { client, methods } = await connected(t);
  assert.match((await failureOf(client.readSkillFile(skill, 'skill://acme/pdf/new.md'))).message, /does not list it/);
  const dynamic = entry({ resources: 'dynamic' }) as unknown as Skill;
  for (const uri of ['skill://acme/other.md', 'skill://acme/pdf/../x.md', 'skill://acme/pdf/%2E%2e/x.md', 'skill://acme/pdf/', 'skill://acme/pdf//x', 'file:///etc/passwd']) {
    assert.match((await failureOf(client.readSkillFile(dynamic, uri))).message, /does not list it/);
  }
  assert.deepEqual(methods(), []);
});

test('the frontmatter of a SKILL.md must be the one of the entry, field by field', () => {
  const read = (frontmatter: JsonObject, content = text): unknown => verifiedFile({ ...skill, frontmatter } as Skill, MAIN, undefined, { contents: [{ uri: MAIN, text: content }] });
  const { frontmatter } = skill;
  assert.ok(read({ metadata: { version: '2.1' }, name: 'pdf', description: 'Works with PDF' }));
  assert.throws(() => read({ ...frontmatter, description: 'Harmless' }), /not the one of the entry \(description\)/);
  assert.throws(() => read({ ...frontmatter, metadata: { version: 2.1 } }), /\(metadata\)/);
  assert.throws(() => read({ ...frontmatter, license: 'MIT' }), /\(license\)/);
  assert.throws(() => read({ name: 'pdf', description: 'Works with PDF' }), /\(metadata\)/);
  assert.throws(() => read(frontmatter, 'no frontmatter'), /does not begin with a line "---"/);
  assert.throws(() => read(frontmatter, text.replace('pdf', '&a pdf')), /line 2 of its frontmatter: anchors are not supported/);
  const proto = JSON.parse('{"name":"pdf","description":"Works with PDF","metadata":{"version":"2.1"},"__proto__":1}') as JsonObject;
  assert.throws(() => read(proto), /\(__proto__\)/);
  // A nested skill's SKILL.md is only text.
  assert.ok(verifiedFile({ ...skill, resources: 'dynamic' }, 'skill://acme/pdf/nested/SKILL.md', undefined, { contents: [{ uri: 'skill://acme/pdf/nested/SKILL.md', text: 'no frontmatter' }] }));
});

test('a file of a dynamic skill is bounded', () => {
  const big = 'x'.repeat(limits.skillBytes + 1);
  assert.throws(() => verifiedFile({ ...skill, resources: 'dynamic' }, FORMS, undefined, { contents: [{ uri: FORMS, text: big }] }), /larger than 16 MiB/);
});

const one = file(MAIN, text);
for (const [reason, item] of [
  [/its uri is not that of a SKILL\.md/, entry({ uri: 'skill://acme/pdf/skill.md' })], [/its uri is not that of a SKILL\.md/, entry({ uri: 7 })], [/its uri is not that of a SKILL\.md/, entry({ uri: 'acme/pdf/SKILL.md' })],
  [/not an object/, entry({ frontmatter: 'x' })], [/lacks a name or a description/, entry({ frontmatter: { name: 'pdf' } })], [/lacks a name or a description/, entry({ frontmatter: { name: '', description: 'x' } })],
  [/its name "doc" is not the last part of its path/, entry({ frontmatter: { name: 'doc', description: 'x' } })],
  [/neither a list nor "dynamic"/, entry({ resources: undefined })], [/neither a list nor "dynamic"/, entry({ resources: null })], [/neither a list nor "dynamic"/, entry({ resources: 'static' })],
  [/lies outside of its directory/, entry({ resources: [one, file('skill://acme/x.md', '')] })], [/lies outside of its directory/, entry({ resources: [one, 'x'] })], [/lies outside of its directory/, entry({ resources: [one, file('skill://acme/pdf/../x', '')] })],
  [/is not sha256 in 64 lower-case hex digits/, entry({ resources: [{ ...one, digest: 'sha256:AB' }] })], [/is no number of bytes/, entry({ resources: [{ ...one, size: -1 }] })], [/is no number of bytes/, entry({ resources: [{ ...one, size: 1.5 }] })],
  [/is listed twice/, entry({ resources: [one, one] })], [/its own SKILL\.md is not among its files/, entry({ resources: [file(FORMS, forms)] })], [/its own SKILL\.md is not among its files/, entry({ resources: [] })],
  [/more than 512 files/, entry({ resources: Array.from({ length: 513 }, (_, n) => file(`skill://acme/pdf/${n}`, '')) })],
  [/larger than 16 MiB together/, entry({ resources: [one, { ...file(FORMS, forms), size: limits.skillBytes }] })],
] as const) {
  test(`an entry is left out because ${String(reason)}`, () => {
    const { items, dropped } = readSkills({ skills: [item] });
    assert.equal(items.length, 0);
    assert.match(dropped[0]!.reason, reason);
  });
}

test('an entry at the limits is taken, with 512 files and 16 MiB', () => {
  const files = [one, ...Array.from({ length: 511 }, (_, n) => ({ ...file(`skill://acme/pdf/${n}`, ''), size: n === 0 ? limits.skillBytes - (one['size'] as number) : 0 }))];
  assert.equal(readSkills({ skills: [entry({ resources: files })] }).items.length, 1);
});

test('the client declares extensions only when it was told to, in both eras', async (t) => {
  const extensions = { 'io.modelcontextprotocol/skills': {} };
  const { peer } = await connected(t, {}, { extensions });
  assert.deepEqual(peer.sent[0]?.params?.['_meta']['io.modelcontextprotocol/clientCapabilities'], { extensions });
  const quiet = await connected(t);
  assert.deepEqual(quiet.peer.sent[0]?.params?.['_meta']['io.modelcontextprotocol/clientCapabilities'], {});
  const older = createScriptedPeer({ answers: { initialize: () => ({ result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } }) } });
  const client = await connectClient({ transport: () => older.transport, protocol: 'legacy', clientInfo: { name: 'test', version: '1' }, answers: { extensions } });
  t.after(() => client.close());
  assert.deepEqual(older.sent[0]?.params?.['capabilities'], { extensions });
});
