/** A machine with one guarded server configured, and a browser that follows redirects. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { recordId } from '../../src/oauth/store.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../fixtures/authorization-server.mjs';
import { sandbox, type Ran, type RunOptions, type Sandbox } from './support.ts';

export interface Guarded extends Sandbox {
  readonly server: AuthorizationServer;
  /** Where credentials rest. */
  readonly store: string;
  /** The entry as it is configured, with these members in place of others. */
  configure(more?: object, others?: object): void;
  /** Runs `mcp auth docs`, and a browser for the address that it shows. */
  signIn(words?: readonly string[], options?: RunOptions): Promise<Ran & { readonly page: Promise<Page> }>;
  /** The stored record. */
  record(name?: string, url?: string): any;
  /** Addresses that wait for somebody. */
  pending(): string[];
}

export interface Page { readonly status: number; readonly text: string; readonly ended: string }

/** The address of the authorization server: whole, and alone on its line. */
export function addressIn(screen: string): string | undefined {
  return /^(https?:\/\/\S+\/authorize\?\S+)$/m.exec(screen)?.[1];
}

/** Where the browser is sent back to. */
export async function landingOf(address: string): Promise<string> {
  const answer = await fetch(address, { redirect: 'manual' });
  return answer.headers.get('location') ?? `nowhere: ${answer.status} ${await answer.text()}`;
}

export async function browse(address: string): Promise<Page> {
  const ended = await landingOf(address);
  const answer = await fetch(ended);
  return { status: answer.status, text: await answer.text(), ended };
}

/** Calls `then` once, with the address, as soon as it is shown. */
export function onAddress(then: (address: string) => void): (screen: string) => void {
  let done = false;
  return (screen) => {
    const address = done ? undefined : addressIn(screen);
    if (address === undefined) return;
    done = true;
    then(address);
  };
}

export async function guarded(t: TestContext, behaviour: Record<string, unknown> = {}, more: object = {}): Promise<Guarded> {
  const box = sandbox(t);
  const server = await startAuthorizationServer(behaviour);
  t.after(() => server.close());
  const store = path.join(box.directory, 'data', 'zuno', 'mcp-auth');
  const configure: Guarded['configure'] = (own = {}, others = {}) => box.config({ mcp: { docs: { type: 'remote', url: server.url, ...own }, ...others }, permission: { mode: 'allow_all' } });
  configure(more);
  return {
    ...box, server, store, configure,
    async signIn(words = [], options = {}) {
      let opened: (page: Promise<Page>) => void = () => {};
      const page = new Promise<Page>((resolve, reject) => { opened = (one) => one.then(resolve, reject); });
      page.catch(() => {});
      const ran = await box.run(['mcp', 'auth', 'docs', ...words], { ...options, onStderr: onAddress((address) => opened(browse(address))) });
      return { ...ran, page };
    },
    record(name = 'docs', url = server.url) {
      const file = path.join(store, 'credentials', `${recordId(name, url)}.json`);
      return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    },
    pending: () => (existsSync(path.join(store, 'pending')) ? readdirSync(path.join(store, 'pending')) : []),
  };
}
