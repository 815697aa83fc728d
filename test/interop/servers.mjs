// Real servers that listen on a port, started as their documents say, each on a port that is free. Whatever a test does, none
// of them outlives the file: `stopServers` in `after`, and the exits of this process as the last resort.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { programOf } from './household.mjs';

const START_MS = 20_000;
const running = new Set();

process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

/** A port of 127.0.0.1 where nothing listens at this moment. */
export async function freePort() {
  const probe = createServer();
  await new Promise((resolve, reject) => { probe.on('error', reject).listen(0, '127.0.0.1', resolve); });
  const { port } = probe.address();
  await new Promise((resolve) => { probe.close(resolve); });
  return port;
}

/**
 * Starts a program and waits until it says that it listens. `args` and `env` are made from the port. Resolves to
 * `{ port, output(), stop(), kill(), pause(), resume(), restart() }`; a restarted server has the same port.
 */
export async function startServer(packageName, { args, env = () => ({}), listening, home }) {
  const program = programOf(packageName);
  let port = await freePort(), child, output;

  async function start() {
    output = '';
    // Nothing of the machine's environment: no proxy, no token. What leaves for the network finds a proxy that is not there.
    const environment = { PATH: process.env.PATH, HOME: home, USERPROFILE: home, TMPDIR: process.env.TMPDIR ?? home, HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9', ...env(port) };
    if (process.platform === 'win32') Object.assign(environment, { SYSTEMROOT: process.env.SYSTEMROOT, TEMP: process.env.TEMP });
    const started = child = spawn(process.execPath, [program, ...args(port)], { cwd: home, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(started);
    started.on('exit', () => running.delete(started));
    await new Promise((resolve, reject) => {
      const fail = (why) => { clearTimeout(timer); reject(new Error(`${packageName} ${why}\n${output}`)); };
      const timer = setTimeout(() => fail(`does not listen after ${START_MS} ms`), START_MS);
      const read = (text) => { output += text; if (listening.test(output)) { clearTimeout(timer); resolve(); } };
      for (const stream of [started.stdout, started.stderr]) stream.setEncoding('utf8').on('data', read);
      started.on('error', (error) => fail(error.message)).on('exit', (code, signal) => fail(`ended (${code ?? signal})`));
    });
  }
  async function end(signal) {
    const ended = child;
    if (ended.exitCode !== null || ended.signalCode !== null) return;
    const gone = new Promise((resolve) => { ended.once('exit', resolve); });
    ended.kill('SIGCONT');
    ended.kill(signal);
    const patience = setTimeout(() => ended.kill('SIGKILL'), 2_000);
    await gone;
    clearTimeout(patience);
  }

  for (let attempt = 1; ; attempt += 1) {
    try { await start(); break; } catch (error) {
      child.kill('SIGKILL');
      // Between looking and listening somebody else may have taken the port.
      if (attempt === 3 || !/EADDRINUSE|in use/.test(error.message)) throw error;
      port = await freePort();
    }
  }
  assert.ok(running.has(child));
  return {
    port,
    output: () => output,
    stop: () => end('SIGTERM'),
    /** Without a word to anybody, as a machine that loses power. */
    kill: () => end('SIGKILL'),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async restart() { await end('SIGKILL'); await start(); },
  };
}

/** Ends every server that is left; fails when one cannot be ended. */
export async function stopServers() {
  const left = [...running];
  await Promise.all(left.map((child) => new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGKILL');
  })));
  assert.equal(running.size, 0);
}
