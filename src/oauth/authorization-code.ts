/** The grant that a person takes part in: listen, show the URL, take the one answer that is ours, exchange its code (RFC 6749 section 4.1). */
import { startDeadline } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { authorizationUrl } from './authorize.ts';
import { checkCallback, codeOf, readPasted } from './callback.ts';
import { callbackPage } from './callback-page.ts';
import { canceled, cleaned, loginRefused, temporary } from './failures.ts';
import { randomToken } from './pkce.ts';
import { openLanding } from './redirect.ts';
import { refusedFailure, requestToken, tokensOf } from './token.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { LoopbackAnswer } from '../http/listener.ts';
import type { Attempt, CheckedCallback } from './callback.ts';
import type { Landing } from './redirect.ts';
import type { Grant, GrantContext, Obtained, Tokens } from './types.ts';

export const authorizationCode: Grant = { type: 'authorization_code', interactive: true, stored: true, obtain };

async function obtain(context: GrantContext): Promise<Obtained> {
  const deadline = startDeadline(limits.oauthInteractiveMs, context.signal);
  const desk = createDesk(context.name);
  let landing: Landing | undefined;
  try {
    landing = await openLanding(context, desk.onRequest);
    const attempt = attemptFor(context, landing);
    desk.expect(attempt);
    const { settings, discovery: { server }, request } = context;
    const url = await authorizationUrl({ settings, server, client: landing.client, request, signal: deadline.signal }, attempt);
    const callback = await answerOf(context, desk, landing, url, deadline.signal).catch((error: unknown) => { throw deadline.expired ? timedOut(context, landing!) : error; });
    const tokens = await exchange(context, landing, callback);
    const { close } = landing;
    return { tokens, settled(ok) { desk.settle(ok); close(); } };
  } catch (error) {
    if (landing?.reused === true && deadline.expired) await context.clients.forget(landing.client.clientId);
    desk.settle(false);
    landing?.close();
    throw error;
  } finally {
    deadline.dispose();
  }
}

function attemptFor({ name, discovery, scope }: GrantContext, { redirectUri }: Landing): Attempt {
  const { server, resource } = discovery;
  return {
    name, resource, scope, redirectUri, issuer: server.issuer, issExpected: server.authorization_response_iss_parameter_supported === true,
    state: randomToken(), verifier: randomToken(),
  };
}

/** Where answers arrive, from the listener and from paste alike. The first that belongs to the attempt ends it. */
interface Desk {
  expect(attempt: Attempt): void;
  /** Why it is no answer to this attempt; undefined when it was taken. */
  receive(query: URLSearchParams): string | undefined;
  readonly onRequest: (query: URLSearchParams) => Promise<LoopbackAnswer>;
  readonly answer: Promise<CheckedCallback>;
  /** Lets the page say how it ended. */
  settle(ok: boolean): void;
}

function createDesk(name: string): Desk {
  let attempt: Attempt | undefined;
  let resolve!: (callback: CheckedCallback) => void, reject!: (failure: AnyFailure) => void, finish!: (ok: boolean) => void;
  const answer = new Promise<CheckedCallback>((yes, no) => { resolve = yes; reject = no; });
  answer.catch(() => {});
  const finished = new Promise<boolean>((done) => { finish = done; });
  const receive = (query: URLSearchParams): string | undefined => {
    if (attempt === undefined) return 'no sign-in waits for it';
    const verdict = checkCallback(attempt, query);
    if (verdict.kind === 'stray') return verdict.why;
    attempt = undefined;
    if (verdict.kind === 'code') resolve(verdict.callback); else { reject(verdict.failure); finish(false); }
    return undefined;
  };
  return {
    expect(one) { attempt = one; },
    receive, answer, settle: finish,
    async onRequest(query) {
      if (receive(query) !== undefined) return { status: 400, html: callbackPage('stray', name) };
      const patience = startDeadline(limits.callbackPageMs);
      const late = new Promise<boolean>((done) => patience.signal.addEventListener('abort', () => done(false), { once: true }));
      const ok = await Promise.race([finished, late]);
      patience.dispose();
      return { status: ok ? 200 : 400, html: callbackPage(ok ? 'signed-in' : 'not-signed-in', name) };
    },
  };
}

/** The listener and the person race; whoever loses is told to stop. */
async function answerOf(context: GrantContext, desk: Desk, landing: Landing, url: string, signal: AbortSignal): Promise<CheckedCallback> {
  const asking = new AbortController();
  const stop = (): void => asking.abort();
  signal.addEventListener('abort', stop, { once: true });
  const aborted = new Promise<never>((_, reject) => {
    const give = (): void => reject(canceled(`sign in to "${context.name}"`));
    if (signal.aborted) give(); else signal.addEventListener('abort', give, { once: true });
  });
  aborted.catch(() => {});
  try {
    return await Promise.race([desk.answer, aborted, conversation(context, desk, landing, url, asking.signal)]);
  } finally {
    asking.abort();
    signal.removeEventListener('abort', stop);
  }
}

/** Shows the URL, then takes pasted addresses as long as somebody can give one. Never resolves: the desk does. */
async function conversation(context: GrantContext, desk: Desk, landing: Landing, url: string, signal: AbortSignal): Promise<never> {
  const { interaction, name, discovery } = context;
  const { redirectUri, listening } = landing;
  const never = new Promise<never>(() => {});
  let pasted = await context.show({ url, redirectUri, listening, host: new URL(url).host, scope: context.scope, expiresAt: Date.now() + limits.oauthInteractiveMs });
  for (let attempt = 0, problem: string | undefined; ; attempt += 1) {
    if (signal.aborted) return never;
    if (pasted === undefined) {
      if (interaction.paste === undefined) break;
      pasted = await interaction.paste(problem, signal);
      if (pasted === undefined) break;
    }
    const read = readPasted(pasted, redirectUri);
    problem = 'problem' in read ? read.problem : desk.receive(read.query);
    if (problem === undefined) return never;
    if (attempt + 1 >= limits.oauthPastes) throw loginRefused(name, 'state_mismatch', `none of the addresses belongs to this sign-in: ${problem}`, 'Run the command again, and paste the address of the window that it opens');
    context.log({ level: 'warning', event: 'oauth.paste', message: `That address cannot be used: ${problem}` });
    pasted = undefined;
  }
  if (!listening) throw loginRefused(name, 'callback_missing', `${cleaned(discovery.server.issuer)} answers at ${redirectUri}, which is not on this machine, and nobody can paste the address`, 'Sign in on a terminal');
  return never;
}

function timedOut({ name }: GrantContext, { reused }: Landing): AnyFailure {
  const minutes = limits.oauthInteractiveMs / 60_000;
  return loginRefused(name, 'callback_timeout', `no answer came back within ${minutes} minutes`,
    reused ? 'The sign-in service may have forgotten this program: it will be registered anew. Run the command again' : 'Run the command again; on a remote machine paste the final address, or use --device');
}

/** One try: a code can be used once (RFC 6749 section 4.1.2). */
async function exchange(context: GrantContext, { client, redirectUri }: Landing, callback: CheckedCallback): Promise<Tokens> {
  const { name, discovery, request, proofs, scope } = context;
  const { server, resource } = discovery;
  const outcome = await requestToken({
    name, request, server, client, proofs,
    parameters: { grant_type: 'authorization_code', code: codeOf(callback), code_verifier: callback.attempt.verifier, redirect_uri: redirectUri, resource },
  });
  switch (outcome.kind) {
    case 'granted': return tokensOf(discovery, client, scope, outcome.granted, proofs);
    case 'temporary': throw temporary(`finish the sign-in to "${name}"`, outcome.failure);
    case 'refused':
      if (outcome.error === 'invalid_client' && client.kind === 'registered') await context.clients.forget(client.clientId);
      if (outcome.error === 'invalid_grant') throw loginRefused(name, 'code_exchange_failed', `${cleaned(server.issuer)} refused the sign-in code, which is expired or was used already (${outcome.description})`.replace(' ()', ''), 'Run the command again');
      throw refusedFailure(name, server.issuer, client, outcome, resource);
  }
}
