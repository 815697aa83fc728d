// A machine of its own with one guarded server configured: the BUILT command line as real processes, and a browser made of fetch.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHousehold } from '../household.mjs';

const cli = process.env.ZUNO_CLI ?? fileURLToPath(new URL('../../../bin/zuno-lite.js', import.meta.url));

export function createMachine(url, entry = {}) {
  const house = createHousehold();
  const { base, work } = house;
  const configure = (more = {}) => {
    const directory = path.join(base, 'config', 'zuno');
    mkdirSync(directory, { recursive: true });
    writeFileSync(path.join(directory, 'zuno.json'), JSON.stringify({ mcp: { docs: { type: 'remote', url, ...more } }, permission: { mode: 'allow_all' } }));
  };
  configure(entry);
  const environment = {
    PATH: process.env.PATH, HOME: base, XDG_CONFIG_HOME: path.join(base, 'config'), XDG_STATE_HOME: path.join(base, 'state'), XDG_DATA_HOME: path.join(base, 'data'), XDG_CACHE_HOME: path.join(base, 'cache'), NO_COLOR: '1',
  };
  const credentials = path.join(base, 'data', 'zuno', 'mcp-auth', 'credentials');
  const file = () => path.join(credentials, readdirSync(credentials).find((name) => name.endsWith('.json')));

  /** Runs `mcp auth docs`; `act` is called once with what `pick` finds on the screen. */
  async function signIn({ words = [], extra = {}, pick = addressIn, act }) {
    const child = spawn(process.execPath, [cli, 'mcp', 'auth', 'docs', ...words], { cwd: work, env: { ...environment, ...extra }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '', stderr = '', acting;
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
      const found = acting === undefined ? pick(stderr) : undefined;
      if (found !== undefined) acting = act(found);
      acting?.catch(() => child.kill());
    });
    const status = await new Promise((resolve) => { child.on('close', (code, signal) => resolve(code ?? signal)); });
    const seen = await acting;
    return { status, stdout, stderr, seen };
  }

  return {
    ...house, configure, signIn,
    /** Signs in with a browser that is let in without a word. */
    async login(words = [], extra = {}) {
      const done = await signIn({ words, extra, act: (address) => createBrowser().visit(address) });
      assert.equal(done.status, 0, done.stdout + done.stderr);
      assert.match(done.seen.text, /You are signed in/);
      return done;
    },
    record: () => (existsSync(credentials) && readdirSync(credentials).length > 0 ? JSON.parse(readFileSync(file(), 'utf8')) : undefined),
    restore: (record) => writeFileSync(file(), JSON.stringify(record), { mode: 0o600 }),
  };
}

export function addressIn(screen) {
  return /^(https?:\/\/\S+\?\S*code_challenge=\S+)$/m.exec(screen)?.[1];
}

/** Follows redirects and keeps cookies for each origin. */
export function createBrowser() {
  const jars = new Map();
  async function visit(address, init = {}) {
    let url = new URL(address), options = init;
    for (let hops = 0; hops < 20; hops += 1) {
      const jar = jars.get(url.origin) ?? new Map();
      jars.set(url.origin, jar);
      const answer = await fetch(url, { ...options, redirect: 'manual', headers: { ...options.headers, cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
        if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name); else jar.set(name, value);
      }
      const location = answer.headers.get('location');
      if (location === null) return { status: answer.status, url: url.href, text: await answer.text(), headers: answer.headers };
      url = new URL(location, url);
      options = {};
    }
    throw new Error(`too many redirects from ${address}`);
  }
  return {
    visit,
    /** Sends the first form of a page, as it stands. */
    submit(page) {
      const action = /action="([^"]+)"/.exec(page.text)[1];
      const fields = [...page.text.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"|<input[^>]*value="([^"]*)"[^>]*name="([^"]+)"/g)].map(([, name, value, value2, name2]) => [name ?? name2, value ?? value2]);
      return visit(new URL(action, page.url), { method: 'POST', body: new URLSearchParams(fields).toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    },
  };
}
