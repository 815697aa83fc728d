// One person, one real browser: from the address that `mcp auth` shows, through the pages of the sign-in service, to the page that this
// program answers with. Needs Debian's chromium (or another one, named in ZUNO_CHROMIUM); without it these tests fail.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { textOf } from '../household.mjs';
import { createMachine } from './machine.mjs';
import { startService } from './service.mjs';

const executablePath = process.env.ZUNO_CHROMIUM ?? '/usr/bin/chromium';
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
let browser;

before(async () => {
  assert.ok(existsSync(executablePath), `there is no ${executablePath}: run "apt-get install -y chromium" as root, or name a Chromium in ZUNO_CHROMIUM`);
  browser = await chromium.launch({ executablePath, args: QUIET });
});
after(() => browser?.close());

/** A window that keeps record of all it asks for and complains about. */
async function openWindow(t, options = {}) {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const requests = [], complaints = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(`${message.text()} (${message.location().url})`); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, requests, complaints };
}

async function set(t) {
  const service = await startService({ pages: true });
  t.after(service.close);
  const machine = createMachine(service.url);
  t.after(machine.remove);
  return { service, machine };
}

async function signInAsAnn(page, address, answer) {
  await page.goto(address);
  await page.fill('[name=name]', 'ann');
  await page.fill('[name=password]', 'open sesame');
  await page.click('button');
  await page.waitForSelector('text=Allow access?');
  await page.click(`button >> text=${answer}`);
}

/** What the page looks like, as far as it can be said in words. */
function looksOf(page) {
  return page.evaluate(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const box = document.querySelector('main').getBoundingClientRect();
    return {
      title: document.title, heading: document.querySelector('h1').textContent, text: document.querySelector('main').innerText, scripts: document.scripts.length,
      ground: style('body').backgroundColor, ink: style('h1').color, inside: box.left >= 0 && box.right <= innerWidth && document.documentElement.scrollWidth <= innerWidth,
    };
  });
}

const brightness = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 3;

for (const [colorScheme, viewport] of [['light', { width: 1024, height: 700 }], ['dark', { width: 320, height: 568 }]]) {
  test(`a person signs in with a real browser, and ends on a page that says what to do next (${colorScheme}, ${viewport.width} wide)`, async (t) => {
    const { service, machine } = await set(t);
    const { page, requests, complaints } = await openWindow(t, { colorScheme, viewport });
    const { status, stdout, stderr, seen } = await machine.signIn({
      async act(address) {
        await signInAsAnn(page, address, 'Allow');
        await page.waitForSelector('text=You are signed in');
        if (process.env.ZUNO_SCREENSHOTS !== undefined) await page.screenshot({ path: `${process.env.ZUNO_SCREENSHOTS}/signed-in-${colorScheme}.png` });
        return { ...(await looksOf(page)), url: page.url() };
      },
    });
    assert.equal(status, 0, stdout + stderr);
    assert.equal(textOf(await machine.call('docs_whoami')), 'ann with read');
    assert.equal(service.count('grant.success', 'authorization_code'), 1);
    assert.deepEqual([seen.title, seen.heading, seen.scripts, seen.inside], ['You are signed in · zuno-lite', 'You are signed in', 0, true]);
    assert.match(seen.text, /MCP server docs[\s\S]*You can close this tab and go back to your terminal\./);
    assert.equal(brightness(seen.ground) > 128, colorScheme === 'light', seen.ground);
    assert.ok(Math.abs(brightness(seen.ground) - brightness(seen.ink)) > 140, `${seen.ink} on ${seen.ground}`);
    assert.match(seen.url, /^http:\/\/127\.0\.0\.1:\d+\/oauth\/callback\/mcp\/docs\?/);
    assert.deepEqual(complaints.filter((one) => !one.includes(`(${service.origin}/`)), []);
    const hosts = new Set(requests.map((url) => new URL(url).hostname));
    assert.deepEqual([...hosts], ['127.0.0.1'], 'nobody else is asked for anything');
  });
}

test('a person who says no ends on a page that says so, and the terminal says why', async (t) => {
  const { service, machine } = await set(t);
  const { page, complaints } = await openWindow(t, { colorScheme: 'dark' });
  const { status, stderr, seen } = await machine.signIn({
    async act(address) {
      await signInAsAnn(page, address, 'Deny');
      await page.waitForSelector('text=Sign-in did not complete');
      if (process.env.ZUNO_SCREENSHOTS !== undefined) await page.screenshot({ path: `${process.env.ZUNO_SCREENSHOTS}/refused-dark.png` });
      return looksOf(page);
    },
  });
  assert.equal(status, 6, stderr);
  assert.match(seen.text, /go back to your terminal: it says why, and what to do next/);
  assert.match(stderr, /access was refused at http:\/\/127\.0\.0\.1:\d+, by you or by its policy \(access_denied: Ann said no\)/);
  // That the page comes with a status of 400 is all that the browser complains about.
  assert.deepEqual(complaints.filter((one) => !one.includes(`(${service.origin}/`) && !/status of 400 .*\(http:\/\/127\.0\.0\.1:\d+\/oauth\/callback/.test(one)), []);
});

test('two tabs: the older one is told that it is not the sign-in that waits', async (t) => {
  const { machine } = await set(t);
  const { page } = await openWindow(t);
  const { status, seen } = await machine.signIn({
    async act(address) {
      const old = new URL(address);
      old.searchParams.set('state', 'of-an-earlier-sign-in');
      await signInAsAnn(page, old.href, 'Allow');
      await page.waitForSelector('text=Use the tab that was opened last');
      const heading = await page.textContent('h1');
      await page.goto(address);
      await page.click('button >> text=Allow');
      await page.waitForSelector('text=You are signed in');
      return heading;
    },
  });
  assert.deepEqual([status, seen], [0, 'Another sign-in is waiting']);
});
