#!/usr/bin/env node
/**
 * A build step for machines without a network: the servers stand in this script, no configuration file is read, and two tools may run,
 * each as often as it is listed here. Outputs become files; the status says what became of the last call.
 *
 *   BUILD_TOKEN=... node examples/build-host.mjs OUTPUT_DIRECTORY
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHost, emptyConfig, isFailure, resolvePaths } from 'zuno-lite';

/** As in `mcp.<name>` of a configuration. The variable is filled in when the server starts; it stands in no log and no message. */
const servers = {
  demo: { type: 'local', command: [process.execPath, fileURLToPath(new URL('../demo/server.mjs', import.meta.url))], environment: { BUILD_TOKEN: '{env:BUILD_TOKEN}' }, timeout: 10_000 },
};

const jobs = [
  { id: 'demo_add', args: { a: 40, b: 2 }, name: 'sum' },
  { id: 'demo_picture', args: { size: 64 }, name: 'picture' },
];

const origin = { file: 'build-host.mjs', layer: 'built-in' };
/** @type {import('zuno-lite').Rule[]} The last one that fits decides: nothing may run but what the jobs need. */
const rules = [{ key: '*', pattern: '*', effect: 'deny', origin }, ...jobs.map(({ id }) => allow(id))];

/** @returns {import('zuno-lite').Rule} */
function allow(key) { return { key, pattern: '*', effect: 'allow', origin }; }

/** By what became of a call: it worked, the tool says that it failed, it failed, it was refused, nobody knows. */
const STATUS = { ok: 0, tool_error: 1, failed: 4, blocked: 7, unknown: 8 };
const NOT_STARTED = 3;

function save(directory, name, parts) {
  return parts.map((part, n) => {
    const file = path.join(directory, `${name}-${n + 1}.${part.kind === 'image' ? part.mediaType.split('/')[1] : 'txt'}`);
    writeFileSync(file, part.kind === 'text' ? part.text : Buffer.from(part.data, 'base64'));
    return file;
  });
}

async function build(host, directory) {
  const session = await host.session({ servers, tools: jobs.map(({ id }) => id), artifacts: path.join(directory, 'artifacts') });
  const step = await session.step();
  for (const { id, args, name } of jobs) {
    const result = await step.call(id, args);
    // A failure has its secrets masked; what a server says is written to files and shown nowhere.
    if (result.failure !== undefined) console.error([result.failure.message, result.failure.hint].filter(Boolean).join('\n'));
    else console.log(`${id}: ${result.outcome}, ${save(directory, name, result.parts).join(', ')}`);
    if (result.outcome !== 'ok') return STATUS[result.outcome];
  }
  return STATUS.ok;
}

async function main(directory) {
  mkdirSync(directory, { recursive: true });
  // Whatever the host remembers between runs is thrown away.
  const home = mkdtempSync(path.join(tmpdir(), 'build-host-'));
  const host = createHost({
    config: { ...emptyConfig, workspace: process.cwd(), permissions: { mode: 'standard', rules } },
    environment: process.env, paths: resolvePaths({ platform: process.platform, home, environment: {} }), life: 'one-shot',
  });
  try {
    return await build(host, directory);
  } catch (error) {
    if (!isFailure(error)) throw error;
    console.error([error.message, error.hint].filter(Boolean).join('\n'));
    return NOT_STARTED;
  } finally {
    await host.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const [directory] = process.argv.slice(2);
if (directory === undefined) console.error('Usage: node build-host.mjs OUTPUT_DIRECTORY');
process.exitCode = directory === undefined ? 2 : await main(path.resolve(directory));
