/** A guarded server, an `OAuth` for it and a browser made of fetch. */
import { createHttp } from '../../src/http/fetch.ts';
import { createOAuth } from '../../src/oauth/oauth.ts';
import { startAuthorizationServer } from '../fixtures/authorization-server.mjs';
import { tempDir } from '../support/process.ts';
import type { TestContext } from 'node:test';
import type { AnyFailure } from '../../src/base/failure.ts';
import type { LogEntry } from '../../src/base/log.ts';
import type { HttpRequest } from '../../src/http/types.ts';
import type { OAuth, OAuthOptions } from '../../src/oauth/oauth.ts';
import type { Interaction, Visit } from '../../src/oauth/types.ts';
import type { AuthorizationServer } from '../fixtures/authorization-server.mjs';

export interface Answer { readonly status: number; readonly body: string }

export interface Guarded {
  readonly server: AuthorizationServer;
  readonly store: string;
  readonly logs: LogEntry[];
  readonly visits: Visit[];
  readonly oauth: OAuth;
  /** A `tools/call` through the decorator; rejects with the failure. */
  call(tool?: string, more?: Partial<HttpRequest>): Promise<Answer>;
  /** A second program with the same credentials. */
  another(options?: Partial<OAuthOptions>): Guarded;
}

/** What a person's browser does: follows the redirect to wherever it leads, and shows the page there. */
export async function browse(url: string): Promise<{ readonly location: string; readonly page: string; readonly status: number }> {
  const first = await fetch(url, { redirect: 'manual' });
  const location = first.headers.get('location');
  if (location === null) throw new Error(`the authorization server answered ${first.status} ${await first.text()}`);
  const last = await fetch(location);
  return { location, page: await last.text(), status: last.status };
}

/** Only the address that the browser would end on. */
export async function landing(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' });
  return answer.headers.get('location') ?? `no location: ${answer.status}`;
}

export const signingIn: Interaction = { mode: 'surface', visit: async ({ url }) => landing(url) };
export const browsing: Interaction = { mode: 'surface', visit({ url }) { void browse(url).catch(() => {}); } };
export const nobody: Interaction = { mode: 'none' };

export async function guarded(t: TestContext, behaviour: Record<string, unknown> = {}, options: Partial<OAuthOptions> = {}): Promise<Guarded> {
  const server = await startAuthorizationServer(behaviour);
  t.after(() => server.close());
  const store = tempDir(t);
  return program(t, server, store, options);
}

export function program(t: TestContext, server: AuthorizationServer, store: string, options: Partial<OAuthOptions>): Guarded {
  const logs: LogEntry[] = [], visits: Visit[] = [];
  const http = createHttp({ environment: {} });
  const { interaction = signingIn, ...rest } = options;
  const oauth = createOAuth({
    name: 'docs', serverUrl: server.url, storeDirectory: store, http: { environment: {} }, log: (entry) => logs.push(entry), ...rest,
    interaction: { ...interaction, visit(visit, signal) { visits.push(visit); return interaction.visit?.(visit, signal); } },
  });
  t.after(() => { oauth.close(); http.close(); });
  const send = oauth.authorize(http.request);
  const call: Guarded['call'] = (tool = 'read', more = {}) => new Promise((resolve, reject: (failure: AnyFailure) => void) => {
    let status = 0, body = '';
    send({
      url: server.url, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }),
      onHead(head) { status = head.status; }, onData(chunk) { body += Buffer.from(chunk).toString(); }, onEnd: () => resolve({ status, body }), onFail: reject, ...more,
    });
  });
  return { server, store, logs, visits, oauth, call, another: (more = {}) => program(t, server, store, { ...options, ...more }) };
}
