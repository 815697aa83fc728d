#!/usr/bin/env node
/**
 * A small MCP server over stdio for "zuno-lite demo" and for trying things out:
 *
 *   zuno-lite mcp add demo -- node <this file>
 *
 * It speaks 2026-07-28 (server/discover, no session) and the older revisions (initialize), touches nothing on the machine
 * and depends on nothing.
 */
import { createInterface } from 'node:readline';
import { deflateSync } from 'node:zlib';

const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const PREFIX = 'io.modelcontextprotocol/';
const serverInfo = { name: 'zuno-lite-demo', title: 'Demo server', version: '1.0.0' };
const capabilities = { tools: {}, resources: {}, prompts: {} };
const instructions = 'A server to try things with: nothing it does reaches beyond its own memory.';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });

/** A square of `size` pixels from blue to orange, as PNG. */
function picture(size) {
  const rows = Buffer.alloc(size * (1 + size * 3));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const at = y * (1 + size * 3) + 1 + x * 3, mix = (x + y) / (2 * size - 2 || 1);
      rows[at] = 40 + 200 * mix;
      rows[at + 1] = 90 + 60 * mix;
      rows[at + 2] = 220 - 180 * mix;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), pngChunk('IHDR', header), pngChunk('IDAT', deflateSync(rows)), pngChunk('IEND', Buffer.alloc(0))]);
}

function pngChunk(name, body) {
  const content = Buffer.concat([Buffer.from(name, 'latin1'), body]);
  let crc = ~0;
  for (const byte of content) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(body.length, 0);
  frame.writeUInt32BE(~crc >>> 0, 4);
  return Buffer.concat([frame.subarray(0, 4), content, frame.subarray(4)]);
}

const notes = [];
const canceled = new Set();

/** Name, what a client is told of the tool, and what it does. */
const tools = {
  add: {
    description: 'Adds two numbers.',
    annotations: { readOnlyHint: true },
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'], additionalProperties: false },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    run: ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  },
  note: {
    description: 'Keeps a note, in the memory of this process only.',
    inputSchema: { type: 'object', properties: { text: { type: 'string', minLength: 1 }, tags: { type: 'array', items: { type: 'string' } } }, required: ['text'], additionalProperties: false },
    run: ({ text: words, tags = [] }) => {
      notes.push({ text: words, tags });
      return text(`Kept note ${notes.length}: ${words}`);
    },
  },
  erase: {
    description: 'Erases all notes.',
    annotations: { destructiveHint: true },
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    run: () => text(`Erased ${notes.splice(0).length} notes.`),
  },
  count: {
    description: 'Counts slowly and reports its progress.',
    inputSchema: { type: 'object', properties: { to: { type: 'integer', minimum: 1, maximum: 100, default: 10 }, delayMs: { type: 'integer', minimum: 0, maximum: 5000, default: 100 } }, additionalProperties: false },
    run: async ({ to = 10, delayMs = 100 }, { progress, isCanceled }) => {
      for (let step = 1; step <= to; step++) {
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        if (isCanceled()) return text(`Stopped at ${step}.`);
        progress(step, to, `step ${step}`);
      }
      return text(`Counted to ${to}.`);
    },
  },
  picture: {
    description: 'Draws a small picture.',
    annotations: { readOnlyHint: true },
    inputSchema: { type: 'object', properties: { size: { type: 'integer', minimum: 1, maximum: 256, default: 32 } }, additionalProperties: false },
    run: ({ size = 32 }) => ({ content: [{ type: 'text', text: `${size} x ${size} pixels:` }, { type: 'image', mimeType: 'image/png', data: picture(size).toString('base64') }] }),
  },
  fail: {
    description: 'Reports an error, as a tool does when its work fails.',
    annotations: { readOnlyHint: true },
    inputSchema: { type: 'object', properties: { message: { type: 'string', default: 'nothing to do' } }, additionalProperties: false },
    run: ({ message = 'nothing to do' }) => ({ ...text(`Failed: ${message}`), isError: true }),
  },
};

const resources = [
  { uri: 'demo://guide', name: 'guide', title: 'Guide', mimeType: 'text/plain', read: () => ({ text: 'Call the tools, fill in the prompt, read the notes.\n' }) },
  { uri: 'demo://picture', name: 'picture', mimeType: 'image/png', read: () => ({ blob: picture(16).toString('base64') }) },
];
const resourceTemplates = [{ uriTemplate: 'demo://notes/{number}', name: 'note', mimeType: 'text/plain' }];
const prompts = [{ name: 'greet', description: 'Asks for a greeting.', arguments: [{ name: 'who', required: true }, { name: 'style' }] }];

class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

function callTool({ name, arguments: args, _meta: meta }, id) {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) throw new RpcError(-32602, `Unknown tool: ${name}`);
  const token = meta?.progressToken;
  const progress = (done, total, message) => {
    if (token !== undefined) send({ method: 'notifications/progress', params: { progressToken: token, progress: done, total, message } });
  };
  return tool.run(args ?? {}, { progress, isCanceled: () => canceled.has(id) });
}

function readResource({ uri }) {
  const known = resources.find((one) => one.uri === uri);
  const note = notes[Number(/^demo:\/\/notes\/(\d+)$/.exec(uri)?.[1]) - 1];
  if (known === undefined && note === undefined) throw new RpcError(-32602, 'Resource not found', { uri });
  return { contents: [known === undefined ? { uri, mimeType: 'text/plain', text: note.text } : { uri, mimeType: known.mimeType, ...known.read() }] };
}

function getPrompt({ name, arguments: args }) {
  if (name !== 'greet') throw new RpcError(-32602, `Unknown prompt: ${name}`);
  return { description: 'A greeting', messages: [{ role: 'user', content: { type: 'text', text: `Greet ${args?.who ?? 'someone'}${args?.style ? ` in the style of ${args.style}` : ''}.` } }] };
}

const methods = {
  'server/discover': () => ({ supportedVersions: [MODERN], capabilities, instructions }),
  initialize: ({ protocolVersion }) => ({ protocolVersion: LEGACY.includes(protocolVersion) ? protocolVersion : LEGACY[0], capabilities, serverInfo, instructions }),
  ping: () => ({}),
  'tools/list': () => ({ tools: Object.entries(tools).map(([name, { run, ...definition }]) => ({ name, ...definition })) }),
  'tools/call': callTool,
  'resources/list': () => ({ resources: resources.map(({ read, ...resource }) => resource) }),
  'resources/templates/list': () => ({ resourceTemplates }),
  'resources/read': readResource,
  'prompts/list': () => ({ prompts }),
  'prompts/get': getPrompt,
};
const cacheable = new Set(['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read']);

async function answer({ id, method, params = {} }) {
  const version = params._meta?.[`${PREFIX}protocolVersion`];
  try {
    if (version !== undefined && version !== MODERN) throw new RpcError(-32022, 'Unsupported protocol version', { supported: [MODERN], requested: version });
    if (!Object.hasOwn(methods, method)) throw new RpcError(-32601, `Method not found: ${method}`);
    const result = await methods[method](params, id);
    const modern = version === undefined ? {} : { resultType: 'complete', ...(cacheable.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {}), _meta: { [`${PREFIX}serverInfo`]: serverInfo } };
    if (!canceled.has(id)) send({ id, result: { ...modern, ...result } });
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) } });
  } finally {
    canceled.delete(id);
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    send({ id: null, error: { code: -32700, message: 'Parse error' } });
    return;
  }
  if (message.method === 'notifications/cancelled') canceled.add(message.params?.requestId);
  else if (message.id !== undefined && message.method !== undefined) void answer(message);
});
