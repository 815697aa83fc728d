// One temporary home for the tests of a file: its own configuration, state and working directory. Every command runs the BUILT
// command line as a process of its own, and whatever it starts inherits a marker: after each command no process may carry it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
/** `ZUNO_CLI` names another built command line. */
export const cli = process.env.ZUNO_CLI ?? path.resolve(here, '../../bin/zuno-lite.js');
const COMMAND_MS = 30_000;

/** The program that a package installs, as a file that Node runs (its `bin` is not executable on every platform). */
export function programOf(packageName) {
  const directory = path.join(here, 'node_modules', packageName);
  assert.ok(existsSync(directory), `${packageName} is not installed: run npm ci in test/interop`);
  const { bin } = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8'));
  return path.join(directory, typeof bin === 'string' ? bin : Object.values(bin)[0]);
}

/** Processes that carry the marker in their environment (Linux). A zombie has none any more. */
function living(marker) {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try { return readFileSync(`/proc/${name}/environ`, 'latin1').includes(marker); } catch { return false; }
  }).map((pid) => {
    try { return `${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`; } catch { return pid; }
  });
}

export function createHousehold() {
  if (process.env.ZUNO_CLI === undefined) assert.ok(existsSync(path.resolve(here, '../../dist/cli.cjs')), 'dist is missing: run npm run build in the root first');
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'zuno-interop-')));
  const work = path.join(base, 'work');
  mkdirSync(work);
  const own = /^(ZUNO|XDG_|NODE_|npm_|INIT_CWD$)/i;
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name))),
    HOME: base, USERPROFILE: base, APPDATA: path.join(base, 'appdata'), LOCALAPPDATA: path.join(base, 'localappdata'),
    XDG_CONFIG_HOME: path.join(base, 'config'), XDG_STATE_HOME: path.join(base, 'state'), XDG_DATA_HOME: path.join(base, 'data'), XDG_CACHE_HOME: path.join(base, 'cache'),
    NO_COLOR: '1',
  };

  /** Runs one command line. Resolves to `{ status, stdout, stderr, json }` and only when nothing of it is alive. */
  async function run(extra, words) {
    const marker = `interop-${randomUUID()}`;
    const child = spawn(process.execPath, [cli, ...words], { cwd: work, env: { ...environment, ...extra, INTEROP_MARKER: marker }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '', stderr = '', late = false;
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
    const timer = setTimeout(() => { late = true; child.kill('SIGKILL'); }, COMMAND_MS);
    const ended = new Promise((resolve, reject) => { child.on('error', reject).on('exit', (code, signal) => resolve(code ?? signal)); });
    const closed = new Promise((resolve) => { child.on('close', resolve); });
    const status = await ended;
    clearTimeout(timer);
    if (process.platform === 'linux') {
      const left = living(marker);
      for (const one of left) try { process.kill(Number.parseInt(one, 10), 'SIGKILL'); } catch {}
      assert.deepEqual(left, [], `left running by: zuno-lite ${words.join(' ')}`);
    }
    await closed;
    assert.ok(!late, `no end within ${COMMAND_MS} ms: zuno-lite ${words.join(' ')}\n${stdout}${stderr}`);
    assert.doesNotMatch(stderr, /\(node:\d+\)|^\s+at .+:\d+:\d+\)?$/m, 'a warning or a stack trace of Node reached the person');
    return { status, stdout, stderr };
  }

  /** The commands, with `extra` variables in the environment of the command line. */
  function commands(extra) {
    const zuno = (...words) => run(extra, words);

    /** With `--json`: exactly one document on stdout, and the expected exit status. */
    async function document(expected, ...words) {
      const { status, stdout, stderr } = await zuno(...words, '--json');
      assert.equal(status, expected, `exit status of: zuno-lite ${words.join(' ')}\n${stdout}${stderr}`);
      const found = JSON.parse(stdout);
      assert.equal(found.ok, expected === 0 || expected === 1, 'ok says whether there is a result');
      return found;
    }

    /** All that a failing command tells. The facts of its `error` must be there. */
    async function failing(status, ...words) {
      const found = await document(status, ...words);
      for (const fact of ['code', 'stage', 'message', 'cause', 'recovery', 'hint']) assert.ok(typeof found.error[fact] === 'string' && found.error[fact] !== '', `the failure tells its ${fact}`);
      return found;
    }

    async function result(expected, outcome, tool, words) {
      // `--yes` answers the policy's question.
      const found = await document(expected, 'call', tool, ...words, '--yes');
      assert.deepEqual([found.outcome, found.result.isError], [outcome, outcome === 'tool_error']);
      return found.result;
    }

    return {
      zuno,
      json: (...words) => document(0, ...words),
      failing,
      /** The `error` of a command that has to end with this exit status. */
      failure: async (status, ...words) => (await failing(status, ...words)).error,
      call: (tool, ...words) => result(0, 'ok', tool, words),
      /** A call whose tool reports an error: exit status 1, and its words are the result. */
      toolError: (tool, ...words) => result(1, 'tool_error', tool, words),
      /** Registers a server as a person would: `mcp add NAME ... -- node program args`. */
      async add(name, packageName, { options = [], args = [] } = {}) {
        const { status, stderr, stdout } = await zuno('mcp', 'add', name, ...options, '--', process.execPath, programOf(packageName), ...args);
        assert.equal(status, 0, stdout + stderr);
      },
      /** Registers a server by its address: `mcp add NAME --url URL ...`. */
      async addUrl(name, url, ...options) {
        const { status, stderr, stdout } = await zuno('mcp', 'add', name, '--url', url, ...options);
        assert.equal(status, 0, stdout + stderr);
      },
    };
  }

  return { base, work, ...commands({}), with: commands, remove: () => rmSync(base, { recursive: true, force: true }) };
}

export const textOf = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');
