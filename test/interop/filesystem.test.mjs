// Files of one directory and nothing outside of it. Legacy era; all tools have output schemas.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createHousehold, textOf } from './household.mjs';

const house = createHousehold();
const { zuno, json, call, failure, toolError, base } = house;
const root = path.join(base, 'root');
const inside = (...parts) => path.join(root, ...parts);
before(async () => {
  mkdirSync(inside('pictures'), { recursive: true });
  writeFileSync(path.join(base, 'secret.txt'), 'not for the server');
  await house.add('files', '@modelcontextprotocol/server-filesystem', { args: [root] });
});
after(house.remove);

test('filesystem: writes, reads back and edits a file', async () => {
  const text = 'one\ntwo ü\nthree\n';
  await call('files_write_file', `path=${inside('note.txt')}`, `content=${text}`);
  assert.equal(readFileSync(inside('note.txt'), 'utf8'), text);
  const read = await call('files_read_text_file', `path=${inside('note.txt')}`, 'head=2');
  assert.equal(textOf(read), 'one\ntwo ü');
  assert.deepEqual(read.structuredContent, { content: 'one\ntwo ü' });
  await call('files.edit_file', `path=${inside('note.txt')}`, 'edits:=[{"oldText":"three","newText":"four"}]');
  assert.equal(readFileSync(inside('note.txt'), 'utf8'), 'one\ntwo ü\nfour\n');
});

test('filesystem: text from a file and arguments from a file', async () => {
  writeFileSync(path.join(house.work, 'body.md'), '# from a file\n');
  await call('files_write_file', `path=${inside('body.md')}`, 'content=@body.md');
  assert.equal(readFileSync(inside('body.md'), 'utf8'), '# from a file\n');
  writeFileSync(path.join(house.work, 'args.json'), JSON.stringify({ paths: [inside('body.md'), inside('missing.md')] }));
  const result = await call('files_read_multiple_files', '--args', '@args.json');
  assert.match(textOf(result), /# from a file/);
  assert.match(textOf(result), /missing\.md: Error/);
});

test('filesystem: a repeated key is a list, a dash-less word is text', async () => {
  writeFileSync(inside('a.txt'), 'A');
  writeFileSync(inside('b.txt'), 'B');
  const result = await call('files_read_multiple_files', `paths=${inside('a.txt')}`, `paths=${inside('b.txt')}`);
  assert.match(textOf(result), /a\.txt:\nA\b[\s\S]*b\.txt:\nB\b/);
});

test('filesystem: bytes come back as they are', async () => {
  const bytes = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  writeFileSync(inside('pictures', 'dot.png'), bytes);
  const { saved } = await json('call', 'files_read_media_file', `path=${inside('pictures', 'dot.png')}`, '--yes', '--output', 'out');
  assert.deepEqual(readFileSync(saved[0]), bytes);
});

test('filesystem: access outside of the root is an error of the tool (exit 1), nothing is shown', async () => {
  const outside = await toolError('files_read_text_file', `path=${path.join(base, 'secret.txt')}`);
  assert.match(textOf(outside), /denied/i);
  assert.doesNotMatch(textOf(outside), /not for the server/);
  const shown = await zuno('call', 'files_read_text_file', `path=${inside('..', 'secret.txt')}`, '--yes');
  assert.deepEqual([shown.status, /denied/i.test(shown.stdout), /reported an error/.test(shown.stderr)], [1, true, true]);
});

test('filesystem: what the server does not offer is said so', async () => {
  const error = await failure(5, 'read', 'files', 'file:///x');
  assert.equal(error.code, 'CAPABILITY_MISSING');
  assert.deepEqual((await json('resources', 'files')).resources, []);
  assert.deepEqual((await json('prompts', 'files')).prompts, []);
});

test('filesystem: a root that does not exist ends the server, and its own words are the cause', async () => {
  await house.add('lost', '@modelcontextprotocol/server-filesystem', { args: [inside('no', 'such', 'directory')] });
  const error = await failure(4, 'tools', 'lost');
  assert.equal(error.code, 'SERVER_EXITED');
  assert.match(error.details.stderrTail, /directories? (is|are) accessible|no such|not exist|accessible/i);
  assert.match(error.origin.file, /zuno\.jsonc?$/);
  const { servers } = await json('mcp', 'list');
  assert.deepEqual(servers.map((server) => [server.name, server.status]), [['files', 'connected'], ['lost', 'failed']]);
  await json('mcp', 'disable', 'lost');
  assert.equal((await json('mcp', 'list')).servers[1].status, 'disabled');
  await json('mcp', 'enable', 'lost');
  await json('mcp', 'remove', 'lost');
  assert.equal((await json('mcp', 'list', '--no-probe')).servers.length, 1);
});
