import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { limits } from '../../../src/base/limits.ts';
import { declaredCapabilities } from '../../../src/mcp/answers.ts';
import { connectClient } from '../../../src/mcp/connect.ts';
import { readSkills, skillReader, verifiedFile } from '../../../src/mcp/skills.ts';
import type { Client, Skill } from '../../../src/mcp/types.ts';
import { createMemoryPair } from '../../../src/transports/memory.ts';
import { failureOf } from '../../support/http-client.ts';

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

/** A client of a modern server that serves one skill; `seen` are the methods after the probe. */
async function connected(t: { after(done: () => Promise<unknown>): void }, served: Served = {}): Promise<{ readonly client: Client; readonly seen: string[]; readonly declared: () => JsonObject }> {
  const seen: string[] = [];
  let meta: JsonObject = {};
  const pair = createMemoryPair((message, reply) => {
    if (message.kind !== 'request') return;
    const { id, method, params = {} } = message.message;
    meta = params['_meta'] as JsonObject;
    const complete = (result: JsonObject): void => reply({ jsonrpc: '2.0', id, result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } });
    if (method !== 'server/discover') seen.push(method);
    switch (method) {
      case 'server/discover': return complete({ supportedVersions: ['2026-07-28'], capabilities: { resources: {}, extensions: served.extensions ?? { 'io.modelcontextprotocol/skills': {} } } });
      case 'skills/list': return complete(params['cursor'] === undefined ? { skills: [served.skill ?? entry()], nextCursor: 'p2' } : { skills: [entry({ uri: 'skill://x/SKILL.md' })] });
      case 'skills/get': return complete({ skill: served.skill ?? entry() });
      default: return complete({ contents: served.contents ?? [{ uri: params['uri'], text: params['uri'] === MAIN ? text : forms }] });
    }
  });
  const client = await connectClient({ transport: () => pair, clientInfo: { name: 'test', version: '1' }, answers: { extensions: { 'io.modelcontextprotocol/skills': {} } } });
  t.after(() => client.close());
  return { client, seen, declared: () => meta['io.modelcontextprotocol/clientCapabilities'] as JsonObject };
}
