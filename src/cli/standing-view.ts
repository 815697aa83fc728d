/** How a sign-in stands, for people and as JSON. Never a token: there is none in what is shown here. */
import type { OAuthStatus } from '../oauth/oauth.ts';
import type { RemoteEntry } from '../config/types.ts';
import type { Context } from './command.ts';
import { standingOf, type SignInState, type Standing } from './credentials.ts';
import { failureDocument } from './explain.ts';
import { momentText } from './moments.ts';
import { dim, green, red, yellow } from './span.ts';
import type { Line, Span } from './span.ts';

const WORDS: Readonly<Record<SignInState, (text: string) => Span>> = { authenticated: green, expired: yellow, needs_login: yellow, signing_in: yellow, automatic: green, static_header: dim, off: dim, unusable: red };
const TEXTS: Readonly<Record<SignInState, string>> = {
  authenticated: 'authenticated', expired: 'expired', needs_login: 'needs login', signing_in: 'signing in', automatic: 'automatic', static_header: 'fixed header', off: 'off', unusable: 'unusable',
};

export function stateCell({ state, status }: Standing): Span {
  if (state === 'expired' && status?.refreshable === true) return yellow('expired, will be renewed');
  return WORDS[state](TEXTS[state]);
}

/** `2026-08-01 14:32 (in 58 minutes)`; nothing where it is not known. */
export function expiryText(status: OAuthStatus | undefined): string {
  if (status?.issuer === undefined) return '';
  return status.expiresAt === undefined ? 'not told' : momentText(status.expiresAt);
}

export function scopeText(status: OAuthStatus | undefined): string {
  return status?.scope?.join(' ') ?? '';
}

const CLIENTS: Readonly<Record<NonNullable<OAuthStatus['client']>, string>> = { configured: 'clientId of the configuration', registered: 'registered by this program', 'metadata-document': 'client metadata document' };

/** The facts of a sign-in, name and text. */
export function statusLines(status: OAuthStatus): (readonly [name: string, text: string])[] {
  const renewed = status.expiresAt !== undefined && status.refreshable === true ? ', renewed by itself' : '';
  return [
    ...(status.issuer === undefined ? [] : [['issuer', status.issuer] as const]),
    ...(scopeText(status) === '' ? [] : [['scopes', scopeText(status)] as const]),
    ...(status.issuer === undefined ? [] : [['expires', `${expiryText(status)}${renewed}`] as const]),
    ...(status.client === undefined ? [] : [['client', CLIENTS[status.client]] as const]),
  ];
}

/** Members for `--json`; `null` where there is nothing to say. */
export function statusDocument(status: OAuthStatus | undefined): object {
  const { issuer, scope, expiresAt, refreshable, client, signInUrl } = status ?? {};
  return { issuer: issuer ?? null, scope: scope ?? null, expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(), refreshable: refreshable ?? null, client: client ?? null, signInUrl: signInUrl ?? null };
}

export function standingDocument({ name, url, state, configured, status, failure, registered }: Standing): object {
  return { name, url, state, configured, ...statusDocument(status), registered, error: failure === undefined ? null : failureDocument(failure) };
}

/** Where somebody can sign in at this moment: the address alone on its line, whole. */
export function waitingLines(name: string, url: string): Line[] {
  return [[yellow(`${name} waits for you to sign in: `), dim('open')], [url]];
}

/** What `mcp debug` tells of a sign-in: which credentials are there, never what they are. */
export interface SignInFacts {
  readonly document: object;
  readonly lines: readonly (readonly [name: string, ...text: Span[]])[];
  readonly waiting: readonly Line[];
}

/** `open`: the server has answered, whether somebody is signed in or not. */
export async function signInFacts(context: Context, entry: RemoteEntry, open: boolean): Promise<SignInFacts> {
  const standing = await standingOf(context, entry);
  const { status, failure, registered } = standing;
  const accessToken = status?.issuer !== undefined, refreshToken = status?.refreshable === true;
  const kept = [...(accessToken ? ['access token'] : []), ...(refreshToken ? ['refresh token'] : []), ...(registered ? ['client registration'] : [])];
  return {
    document: { state: standing.state, ...statusDocument(status), kept: { accessToken, refreshToken, registration: registered } },
    lines: [
      ['sign-in', open && standing.state === 'needs_login' ? 'none: the server answers without it' : stateCell(standing), ...(failure === undefined ? [] : [`: ${failure.message}`])],
      ...statusLines(status ?? { state: 'off' }).map(([name, text]) => [name, text] as const),
      ['credentials', kept.length === 0 ? dim('none are kept') : `kept: ${kept.join(', ')}`],
    ],
    waiting: status?.signInUrl === undefined ? [] : waitingLines(entry.name, status.signInUrl),
  };
}
