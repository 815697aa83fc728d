/**
 * The one holder of the tokens of one server. However many requests wait, one refresh and one sign-in run: in this process by joining,
 * across processes by the locks of the store. A caller that loses patience ends its own waiting and nothing else.
 */
import { delay, startDeadline } from '../base/deadline.ts';
import { Failure, toFailure } from '../base/failure.ts';
import { limits } from '../base/limits.ts';
import { noChallenge } from './challenges.ts';
import { createClients } from './clients.ts';
import { discover, isListed } from './discovery.ts';
import { createProofs } from './dpop.ts';
import { endpointProblem, sameButSlash } from './endpoints.ts';
import { canceled, cleaned, isTemporary, loginRefused, loginRequired, temporary, tokenRefused } from './failures.ts';
import { isExpired, isNearExpiry } from './freshness.ts';
import { refreshTokens } from './refresh.ts';
import { covers, unite } from './scope.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { Log } from '../base/log.ts';
import type { DiscoveryContext } from './discovery.ts';
import type { RefreshContext } from './refresh.ts';
import type { CredentialStore } from './store.ts';
import type { AuthChallenge, Discovery, Grant, GrantContext, Interaction, OAuthRequest, OAuthSettings, Proofs, Tokens, Visit } from './types.ts';

export interface FlowOptions {
  readonly name: string;
  readonly serverUrl: string;
  readonly settings: OAuthSettings;
  readonly grant: Grant;
  readonly store: CredentialStore;
  readonly request: OAuthRequest;
  readonly interaction: Interaction;
  readonly log: Log;
  /** Opens the browser in mode `open`; what stood in the way, or undefined. */
  readonly open: (url: string) => Promise<string | undefined>;
  /** Told every secret that a server hands out, for the redactor. */
  readonly secret: (value: string) => void;
}

export interface LoginOptions {
  /** In addition to what is asked for anyway. */
  readonly scope?: readonly string[];
  readonly challenge?: AuthChallenge;
  /** Signs in even where there are tokens that still work. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

export interface Flow {
  /** What to send right now; undefined where nobody has signed in. Looks on the disk while it holds nothing. */
  current(): Tokens | undefined;
  /** True when `current` should be renewed before it is used. */
  isStale(tokens: Tokens): boolean;
  /** Renewed tokens, or the old ones while they live and renewing is impossible for the moment. */
  fresh(tokens: Tokens, signal?: AbortSignal): Promise<Tokens>;
  /** The server has taken them: if it refuses them later, something has changed meanwhile. */
  accepted(tokens: Tokens): void;
  /** After a 401. `used`: what the request carried. Rejects with the failure that the request ends with. */
  recover(used: Tokens | undefined, challenge: AuthChallenge, signal?: AbortSignal): Promise<Tokens>;
  /** After a 403 that asks for more scope. `operation` names what is counted, for instance a tool. */
  stepUp(used: Tokens, challenge: AuthChallenge, operation: string, signal?: AbortSignal): Promise<Tokens>;
  login(options: LoginOptions): Promise<Tokens>;
  /** Forgets what is held in memory. */
  drop(): void;
  proofsFor(key: string): Proofs | undefined;
  /** Where a person can sign in at this moment. */
  waitingAt(): Visit | undefined;
  /** How long a request waits here at most, milliseconds. */
  readonly patienceMs: number;
  close(): void;
}

/** How the tokens in hand came about: decides whether a refusal of them can be cured by the same means again. */
type Source = 'store' | 'refresh' | 'obtained';
interface Held { readonly tokens: Tokens; readonly source: Source; accepted: boolean }

const FOLLOW_POLL_MS = 500;

export function createFlow(options: FlowOptions): Flow {
  const { name, serverUrl, settings, grant, store, request, interaction, log, secret } = options;
  const ending = new AbortController();
  const proofs = new Map<string, Proofs>();
  const stepUps = new Map<string, number>();
  const refusedScopes = new Set<string>();
  let held: Held | undefined;
  let waiting: Visit | undefined;
  /** Where the server has said that its metadata is: a later refusal need not repeat it. */
  let namedAt: readonly string[] = [];
  let renewing: Promise<Tokens> | undefined, signingIn: Promise<Tokens> | undefined;
  const patienceMs = interaction.waitMs ?? (interaction.mode === 'surface' ? limits.oauthStartMs : limits.oauthInteractiveMs + limits.callbackPageMs);
  let backoff: { readonly failure: AnyFailure; readonly until: number; readonly tries: number } | undefined;

  const context: DiscoveryContext = { name, serverUrl, settings, request, log, signal: ending.signal };
  const refreshContext: RefreshContext = { ...context, store, proofsFor };

  function proofsFor(key: string): Proofs | undefined {
    const made = proofs.get(key) ?? createProofs(key);
    if (made !== undefined) proofs.set(key, made);
    return made;
  }

  /** Tokens are used only where they were meant to go; others are as good as absent. */
  function fits(tokens: Tokens): boolean {
    if (settings.clientId !== undefined && tokens.clientId !== settings.clientId) return false;
    if (settings.issuer !== undefined && !sameButSlash(tokens.issuer, settings.issuer)) return false;
    return settings.resource === undefined || tokens.resource === (settings.resource === false ? undefined : settings.resource);
  }

  function hold(tokens: Tokens, source: Source): Tokens {
    secret(tokens.accessToken);
    if (tokens.refreshToken !== undefined) secret(tokens.refreshToken);
    held = { tokens, source, accepted: false };
    return tokens;
  }

  function fromStore(): Tokens | undefined {
    if (!grant.stored) return undefined;
    const tokens = store.read()?.tokens;
    return tokens !== undefined && fits(tokens) ? tokens : undefined;
  }

  function current(): Tokens | undefined {
    if (held !== undefined) return held.tokens;
    const tokens = fromStore();
    return tokens === undefined ? undefined : hold(tokens, 'store');
  }

  /** What another process, or a request beside this one, has put in place of `used`. */
  function replaced(used: Tokens | undefined): Tokens | undefined {
    if (held !== undefined && held.tokens.accessToken !== used?.accessToken) return held.tokens;
    const stored = fromStore();
    return stored === undefined || stored.accessToken === used?.accessToken ? undefined : hold(stored, 'store');
  }

  // ---- renewing
  function renew(used: Tokens): Promise<Tokens> {
    return renewing ??= renewOnce(used).finally(() => { renewing = undefined; });
  }

  async function renewOnce(used: Tokens): Promise<Tokens> {
    if (backoff !== undefined && backoff.until > Date.now()) throw backoff.failure;
    const result = await refreshTokens(refreshContext, used);
    switch (result.kind) {
      case 'tokens':
        backoff = undefined;
        log({ level: 'info', event: 'oauth.refresh', message: `${result.adopted ? 'Took over the renewed sign-in' : 'Renewed the sign-in'} to "${name}"` });
        return hold(result.tokens, result.adopted ? 'store' : 'refresh');
      case 'ended':
        backoff = undefined;
        held = undefined;
        throw result.failure;
      case 'temporary': {
        const failure = temporary(`renew the sign-in to "${name}", which is kept`, result.failure);
        const tries = (backoff?.tries ?? 0) + 1;
        const waitMs = Math.max(Math.min(limits.retryFirstMs * limits.retryFactor ** (tries - 1), 2 * limits.retryCapMs), Math.min(result.retryAfterMs ?? 0, 2 * limits.retryCapMs));
        backoff = { failure, tries, until: Date.now() + waitMs };
        throw failure;
      }
    }
  }

  async function fresh(tokens: Tokens, signal?: AbortSignal): Promise<Tokens> {
    const other = replaced(tokens);
    if (other !== undefined && !isNearExpiry(other)) return other;
    if (!grant.interactive) return wait(obtainAgain(noChallenge, tokens), signal);
    if (tokens.refreshToken === undefined) return tokens;
    try {
      return await wait(renew(other ?? tokens), signal);
    } catch (error) {
      const failure = toFailure(error, 'auth');
      if (failure.code === 'CANCELED' && signal?.aborted === true) throw failure;
      // The server judges what we still have; its 401 leads on from there.
      if (failure.code === 'LOGIN_REQUIRED' || !isExpired(tokens)) return tokens;
      throw failure;
    }
  }

  // ---- obtaining
  /** One sign-in at a time, joined by everybody who needs one. */
  function obtainAgain(challenge: AuthChallenge, used: Tokens | undefined, scope: readonly string[] = [], found?: Discovery): Promise<Tokens> {
    return signingIn ??= (grant.stored ? leadOrFollow(challenge, used, scope, found) : obtain(challenge, used, scope, found)).finally(() => { signingIn = undefined; waiting = undefined; });
  }

  async function leadOrFollow(challenge: AuthChallenge, used: Tokens | undefined, scope: readonly string[], found: Discovery | undefined): Promise<Tokens> {
    for (let shown = false; ; shown = true) {
      if (ending.signal.aborted) throw canceled(`sign in to "${name}"`);
      const led = await store.leading(async () => {
        const done = doneElsewhere(used, scope);
        if (done !== undefined) return done;
        try {
          return await obtain(challenge, used, scope, found);
        } finally {
          waiting = undefined;
          await store.publish(undefined);
        }
      });
      if (led !== undefined) return led.value;
      const done = doneElsewhere(used, scope);
      if (done !== undefined) return done;
      if (!shown) await pointElsewhere();
      await delay(FOLLOW_POLL_MS, ending.signal);
    }
  }

  function doneElsewhere(used: Tokens | undefined, scope: readonly string[]): Tokens | undefined {
    const stored = fromStore();
    if (stored === undefined || stored.accessToken === used?.accessToken || isExpired(stored) || !covers(stored.scopeGranted, scope)) return undefined;
    return hold(stored, 'store');
  }

  /** Another process leads: its address is shown here too. */
  async function pointElsewhere(): Promise<void> {
    for (let tries = 0; tries < 10 && !ending.signal.aborted; tries += 1) {
      const pending = store.pending();
      if (pending !== undefined) {
        const { url, redirectUri, userCode, startedAt, expiresAt } = pending;
        if (endpointProblem(url) !== undefined) return;
        waiting = { server: name, url, host: new URL(url).host, startedAt, expiresAt, listening: true, scope: [], elsewhere: true, ...(redirectUri !== undefined && { redirectUri }), ...(userCode !== undefined && { userCode }) };
        await interaction.visit?.(waiting, ending.signal);
        return;
      }
      await delay(FOLLOW_POLL_MS / 5, ending.signal);
    }
  }

  async function obtain(challenge: AuthChallenge, used: Tokens | undefined, extra: readonly string[], found: Discovery | undefined): Promise<Tokens> {
    const discovery = found ?? await rediscover(challenge, used?.issuer);
    const scope = scopeFor(discovery, challenge, extra, used);
    const shared = { name, settings, request, signal: ending.signal, scope };
    const wantsDpop = settings.dpop ?? (discovery.dpopRequired || used?.tokenType === 'dpop');
    const proof = wantsDpop ? createProofs() : undefined;
    if (proof !== undefined) proofs.set(proof.key, proof);
    const clients = createClients({ ...shared, server: discovery.server, store, secret });
    const grantContext: GrantContext = { ...shared, discovery, proofs: proof, interaction, clients, show, log };
    const { tokens, settled } = await grant.obtain(grantContext);
    try {
      if (grant.stored) await store.locked(async (inside) => { await inside.write({ ...(inside.read() ?? store.empty), tokens }); });
    } catch (error) {
      settled?.(false);
      throw error;
    }
    settled?.(true);
    backoff = undefined;
    log({ level: 'info', event: 'oauth.signed-in', message: `Signed in to "${name}" at ${cleaned(discovery.server.issuer)}`, fields: { scope: tokens.scopeGranted } });
    return hold(tokens, 'obtained');
  }

  /** Configured scope stands for itself; otherwise the challenge, otherwise what the resource lists. Never what the server could give. */
  function scopeFor({ server, resourceScopes }: Discovery, challenge: AuthChallenge, extra: readonly string[], used: Tokens | undefined): string[] {
    const asked = settings.scope !== undefined ? unite(settings.scope, challenge.scope) : challenge.scope.length > 0 ? challenge.scope : resourceScopes;
    const before = used !== undefined && used.issuer === server.issuer ? used.scopeRequested : [];
    const scope = unite(before, asked, extra);
    const offline = grant.type === 'authorization_code' && scope.length > 0 && server.scopes_supported?.includes('offline_access') === true;
    return offline ? unite(scope, ['offline_access']) : scope;
  }

  function rediscover(challenge: AuthChallenge, preferred: string | undefined): Promise<Discovery> {
    if (challenge.metadataUrls.length > 0) namedAt = challenge.metadataUrls;
    return discover(context, { ...challenge, metadataUrls: namedAt }, preferred);
  }

  async function show(visit: Omit<Visit, 'server' | 'startedAt'>): Promise<string | undefined> {
    const startedAt = Date.now();
    waiting = { server: name, startedAt, ...visit };
    const { url, redirectUri, userCode, expiresAt } = visit;
    await store.publish({ url, redirectUri, userCode, expiresAt, startedAt, pid: process.pid });
    log({ level: 'info', event: 'oauth.visit', message: `Sign in to "${name}" at ${visit.host}` });
    const given = interaction.visit?.(waiting, ending.signal);
    if (interaction.mode === 'open') {
      const problem = await options.open(visit.completeUrl ?? url);
      if (problem !== undefined) log({ level: 'info', event: 'oauth.browser', message: `No browser was opened: ${problem}` });
    }
    return await given ?? undefined;
  }

  // ---- after a refusal
  async function recover(used: Tokens | undefined, challenge: AuthChallenge, signal?: AbortSignal): Promise<Tokens> {
    const other = replaced(used);
    if (other !== undefined) return other;
    if (signingIn !== undefined) return wait(signingIn, signal);
    if (used !== undefined && held?.source === 'obtained' && !held.accepted) throw justRefused(used);
    if (used === undefined && grant.interactive && interaction.mode === 'none') throw loginRequired(name, 'it needs you to sign in');
    if (!grant.interactive) return wait(obtainAgain(challenge, used), signal);
    return wait(renewOrSignIn(used, challenge), signal);
  }

  async function renewOrSignIn(used: Tokens | undefined, challenge: AuthChallenge): Promise<Tokens> {
    if (used === undefined) return obtainAgain(challenge, undefined);
    let found: Discovery | undefined;
    try {
      found = renewing === undefined ? await rediscoverSoon(challenge, used.issuer) : undefined;
    } catch (error) {
      const failure = toFailure(error, 'auth');
      if (!isTemporary(failure) || used.refreshToken === undefined) throw failure;
    }
    const other = replaced(used);
    if (other !== undefined) return other;
    const moved = found !== undefined && !isListed(found, used.issuer);
    if (moved && settings.clientId !== undefined) {
      throw loginRefused(name, 'as_changed', `it now signs in at ${cleaned(found!.server.issuer)}; your clientId belongs to ${cleaned(used.issuer)}`, 'Get a client id there, then set oauth.issuer and oauth.clientId');
    }
    let ended: AnyFailure | undefined;
    // Renewed and never taken: renewing again would go on for ever.
    const useless = held?.source === 'refresh' && !held.accepted;
    if (!moved && used.refreshToken !== undefined && !useless) {
      try {
        return await renew(used);
      } catch (error) {
        const failure = toFailure(error, 'auth');
        if (failure.code !== 'LOGIN_REQUIRED' && !(failure.code === 'LOGIN_REFUSED' && failure.details.error === 'unsupported_grant_type')) throw failure;
        ended = failure;
      }
    }
    if (interaction.mode === 'none') throw ended?.code === 'LOGIN_REQUIRED' ? ended : loginRequired(name, 'the sign-in has ended', { error: 'refresh_expired' });
    return obtainAgain(challenge, used, [], found);
  }

  /** Of many requests that are refused at once, one asks again who guards the server. */
  let rediscovering: Promise<Discovery> | undefined;
  function rediscoverSoon(challenge: AuthChallenge, preferred: string): Promise<Discovery> {
    return rediscovering ??= rediscover(challenge, preferred).finally(() => { rediscovering = undefined; });
  }

  function justRefused(used: Tokens): AnyFailure {
    return tokenRefused(name, 'token_rejected', `it refuses a token that ${cleaned(used.issuer)} has just issued`,
      `The server and its sign-in service disagree${used.resource === undefined ? '' : `, often about the audience "${cleaned(used.resource)}"`}`);
  }

  async function stepUp(used: Tokens, challenge: AuthChallenge, operation: string, signal?: AbortSignal): Promise<Tokens> {
    const other = replaced(used);
    if (other !== undefined && covers(other.scopeGranted, challenge.scope)) return other;
    const tokens = other ?? used;
    if (covers(tokens.scopeGranted, challenge.scope)) {
      throw tokenRefused(name, 'scope_not_granted', challenge.scope.length === 0 ? 'it asks for more rights and does not say which' : `it asks for "${challenge.scope.join(' ')}", which you already have`, 'This is a fault of the server, or a limit of its policy');
    }
    const wanted = unite(settings.scope ?? [], tokens.scopeRequested, tokens.scopeGranted, challenge.scope);
    const key = wanted.join(' '), count = stepUps.get(operation) ?? 0;
    if (refusedScopes.has(key) || count >= limits.oauthStepUps || (grant.interactive && interaction.mode === 'none')) {
      const missing = challenge.scope.filter((one) => !tokens.scopeGranted.includes(one));
      throw loginRequired(name, `it needs more rights: ${missing.join(' ')}`, { error: 'insufficient_scope', scope: missing, hint: `Run: zuno-lite mcp auth ${name} --scope "${key}"` });
    }
    stepUps.set(operation, count + 1);
    try {
      const next = await wait(obtainAgain(challenge, tokens, wanted), signal);
      if (!covers(next.scopeGranted, challenge.scope)) refusedScopes.add(key);
      return next;
    } catch (error) {
      if (toFailure(error, 'auth').code === 'LOGIN_REFUSED') refusedScopes.add(key);
      throw error;
    }
  }

  async function login({ scope = [], challenge = noChallenge, force = false, signal }: LoginOptions): Promise<Tokens> {
    if (signingIn !== undefined) return wait(signingIn, signal);
    const tokens = current();
    if (!force && tokens !== undefined && covers(tokens.scopeGranted, scope) && !isExpired(tokens)) return tokens;
    return wait(obtainAgain(challenge, tokens, scope), signal);
  }

  /** Waits as long as the caller likes; what is waited for goes on. */
  async function wait(work: Promise<Tokens>, signal: AbortSignal | undefined): Promise<Tokens> {
    const deadline = startDeadline(patienceMs, signal);
    const patience = new Promise<never>((_, reject) => {
      const give = (): void => reject(signal?.aborted === true ? canceled(`sign in to "${name}"`) : impatient());
      if (deadline.signal.aborted) give(); else deadline.signal.addEventListener('abort', give, { once: true });
    });
    work.catch(() => {});
    patience.catch(() => {});
    try {
      return await Promise.race([work, patience]);
    } finally {
      deadline.dispose();
    }
  }

  function impatient(): AnyFailure {
    if (waiting === undefined) return new Failure('TIMEOUT', `Cannot sign in to "${name}": the sign-in service takes its time`, { stage: 'auth', details: { afterMs: patienceMs }, recovery: 'retryable' }) as AnyFailure;
    return loginRequired(name, `it waits for you to sign in at ${waiting.host}`, { error: 'login_in_progress', url: waiting.url, hint: `Open the address while this program runs, or use: zuno-lite mcp auth ${name}` });
  }

  return {
    accepted(tokens) { if (held?.tokens === tokens) held.accepted = true; },
    current, fresh, recover, stepUp, login, proofsFor, patienceMs,
    isStale: (tokens) => isNearExpiry(tokens) && (tokens.refreshToken !== undefined || !grant.interactive),
    drop() { held = undefined; backoff = undefined; },
    waitingAt: () => waiting,
    close() { ending.abort(); },
  };
}
