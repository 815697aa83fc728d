/**
 * The words of the OAuth floor. Wire fields keep the spelling of their RFC; times are milliseconds since the epoch; scopes are lists.
 * Whoever needs a person, a log or a place to keep things is handed it.
 */
import type { AnyFailure } from '../base/failure.ts';
import type { Log } from '../base/log.ts';
import type { ResponseHeaders } from '../http/types.ts';

export type GrantType = 'authorization_code' | 'client_credentials' | 'device_code' | 'enterprise_managed' | 'workload_jwt';
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** The `oauth` object of an entry after `readSettings` has checked it. Absent members mean the default of OAUTH.md 1.1. */
export interface OAuthSettings {
  readonly type: GrantType;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** What an authorization server shows on its consent page. */
  readonly clientName?: string;
  readonly scope?: readonly string[];
  readonly callbackPort?: number;
  readonly redirectUri?: string;
  /** Pins the authorization server; also admits a private address there. */
  readonly issuer?: string;
  /** A string is sent in place of what the server publishes; `false` sends none. */
  readonly resource?: string | false;
  readonly tokenEndpointAuthMethod?: ClientAuthMethod;
  /** PEM text of the key for `private_key_jwt`. */
  readonly privateKey?: string;
  readonly privateKeyId?: string;
  readonly signingAlg?: string;
  readonly clientMetadataUrl?: string;
  readonly authorizationParams?: Readonly<Record<string, string>>;
  readonly allowMissingPkceMetadata?: boolean;
  readonly legacyDefaultEndpoints?: boolean;
  readonly strictIssuer?: boolean;
  readonly strictResource?: boolean;
  /** `true`: always; `false`: never; absent: when the server demands it. */
  readonly dpop?: boolean;
  /** `enterprise_managed`: where the company's identity provider exchanges tokens, and who we are there. */
  readonly identityProvider?: {
    readonly tokenEndpoint: string;
    readonly clientId: string;
    readonly clientSecret?: string;
    readonly subjectToken: string;
    /** Default: an id_token. */
    readonly subjectTokenType?: string;
  };
  /** `workload_jwt`: the workload's own JWT, as text or in a file that is read again for each request. */
  readonly assertion?: string;
  readonly assertionFile?: string;
}

/** The `oauth` object as it is written in a configuration. */
export type OAuthConfig = Partial<Omit<OAuthSettings, 'scope'>> & {
  /** A list, or texts with spaces between. */
  readonly scope?: string | readonly string[];
  /** PEM file of the key for `private_key_jwt`, in place of `privateKey`. */
  readonly privateKeyFile?: string;
};

/** RFC 9728, checked: `resource` fits the server, the list is not empty. */
export interface ProtectedResource {
  /** Byte for byte as published: what is sent as `resource`. */
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly dpop_bound_access_tokens_required?: boolean;
}

/** RFC 8414 or OpenID Connect discovery, checked: `issuer` is the one asked for, endpoints are safe URLs. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint: string;
  readonly registration_endpoint?: string;
  readonly revocation_endpoint?: string;
  readonly device_authorization_endpoint?: string;
  readonly pushed_authorization_request_endpoint?: string;
  readonly require_pushed_authorization_requests?: boolean;
  readonly scopes_supported?: readonly string[];
  readonly grant_types_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly code_challenge_methods_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly client_id_metadata_document_supported?: boolean;
  readonly authorization_grant_profiles_supported?: readonly string[];
  readonly dpop_signing_alg_values_supported?: readonly string[];
}

/** What discovery found for one server. */
export interface Discovery {
  readonly server: AuthorizationServer;
  /** Sent as `resource`; undefined only with `resource: false`. */
  readonly resource: string | undefined;
  /** Issuers that the protected resource lists. */
  readonly issuers: readonly string[];
  readonly resourceScopes: readonly string[];
  readonly dpopRequired: boolean;
}

/** What a 401 or 403 said (RFC 6750, RFC 9728, RFC 9449). */
export interface AuthChallenge {
  readonly metadataUrls: readonly string[];
  readonly scope: readonly string[];
  readonly error?: string;
  /** The server wants DPoP and does not offer Bearer beside it. */
  readonly dpopOnly: boolean;
}

/** A client as one authorization server knows it. Never used at another issuer. */
export interface ClientIdentity {
  readonly kind: 'configured' | 'metadata-document' | 'registered';
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method: ClientAuthMethod;
  /** For `private_key_jwt`. */
  readonly key?: { readonly pem: string; readonly keyId?: string; readonly alg?: string };
}

/** The part of a registered client that is kept. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Milliseconds; absent or 0: never. */
  readonly clientSecretExpiresAt?: number;
  readonly method: ClientAuthMethod;
  readonly redirectUri: string;
  readonly grantTypes: readonly string[];
  /** What it may ask for, where the server said so: more than this needs another registration. */
  readonly scope?: readonly string[];
  readonly registeredAt: number;
}

/** One generation of tokens with all that is needed to use and renew it. */
export interface Tokens {
  readonly issuer: string;
  readonly clientId: string;
  readonly resource?: string;
  readonly tokenEndpoint: string;
  readonly accessToken: string;
  readonly tokenType: 'bearer' | 'dpop';
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  readonly scopeRequested: readonly string[];
  readonly scopeGranted: readonly string[];
  readonly obtainedAt: number;
  /** PKCS#8 PEM of the key that the tokens are bound to. */
  readonly dpopKey?: string;
}

/** One answer of an OAuth endpoint: whole, bounded, not redirected. */
export interface OAuthAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
}

export type RequestKind = 'metadata' | 'registration' | 'token' | 'revocation' | 'device' | 'pushed-authorization';

export interface OAuthRequestInit {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs?: number;
}

/**
 * The only way out of this floor: checks the URL and the address, follows nothing, bounds body and time, logs method, URL without query,
 * status and duration. Rejects with a `Failure` when there is no complete answer.
 */
export type OAuthRequest = (kind: RequestKind, url: string, init?: OAuthRequestInit) => Promise<OAuthAnswer>;

/** Makes a DPoP proof (RFC 9449) for one request, and remembers nonces by origin. */
export interface Proofs {
  /** PKCS#8 PEM, to be stored with the tokens. */
  readonly key: string;
  proof(request: { readonly method: string; readonly url: string; readonly accessToken?: string; readonly body?: string | Uint8Array }): string;
  /** Takes note of a `DPoP-Nonce`; true when it is a new one for that origin. */
  nonce(url: string, headers: ResponseHeaders): boolean;
}

/** What the token endpoint said (RFC 6749 section 5). */
export type TokenOutcome =
  | { readonly kind: 'granted'; readonly granted: GrantedToken }
  | { readonly kind: 'refused'; readonly error: string; readonly description: string; readonly status: number }
  | { readonly kind: 'temporary'; readonly failure: AnyFailure; readonly retryAfterMs?: number };

export interface GrantedToken {
  readonly accessToken: string;
  readonly tokenType: 'bearer' | 'dpop';
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  /** Absent: what was asked for. */
  readonly scope?: readonly string[];
}

/** The clients that we are at one authorization server. */
export interface Clients {
  /** What this program is there without asking anybody, or `register`. Fails with LOGIN_REFUSED `client_required`. */
  plan(redirectUri: string): { readonly kind: 'ready'; readonly client: ClientIdentity } | { readonly kind: 'register' };
  /** The kept registration, if it can still be used for these grant types. */
  registration(grantTypes: readonly string[]): Registration | undefined;
  /** Uses the kept registration where it fits, otherwise registers and keeps that. `extraGrants`: beyond code and refresh. */
  register(redirectUri: string, extraGrants?: readonly string[]): Promise<ClientIdentity>;
  /** Forgets a registration that the server no longer knows, unless another process has replaced it. */
  forget(clientId: string): Promise<void>;
}

/** What a grant works with. */
export interface GrantContext {
  /** Name of the entry, for messages. */
  readonly name: string;
  readonly settings: OAuthSettings;
  readonly discovery: Discovery;
  /** Wanted scope; empty: the parameter is left out. */
  readonly scope: readonly string[];
  readonly request: OAuthRequest;
  readonly proofs: Proofs | undefined;
  readonly interaction: Interaction;
  readonly clients: Clients;
  /** Shows a person where to sign in, here and to other processes. May give back the address that the browser ended on. */
  show(visit: Omit<Visit, 'server' | 'startedAt'>): Promise<string | undefined>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Obtained {
  readonly tokens: Tokens;
  /** Called once the tokens are kept, or could not be: the page of a browser waits for it. */
  settled?(ok: boolean): void;
}

/** One way to get tokens. A new grant is one file with one of these and a row in `grants.ts`. */
export interface Grant {
  readonly type: GrantType;
  /** Needs a person: it never runs in interaction mode `none`. */
  readonly interactive: boolean;
  /** False: the tokens live in memory only. */
  readonly stored: boolean;
  /** Rejects with a `Failure` of stage `auth`. */
  obtain(context: GrantContext): Promise<Obtained>;
}

/** What a person is shown, so that it can sign in. Every URL here has passed the scheme check. */
export interface Visit {
  readonly server: string;
  readonly url: string;
  /** Host of the authorization server, in its ASCII form, to be named in words. */
  readonly host: string;
  readonly startedAt: number;
  readonly expiresAt: number;
  /** Where the browser will end. Absent for a device sign-in. */
  readonly redirectUri?: string;
  /** True when this program listens there. */
  readonly listening: boolean;
  /** Device sign-in: to be entered at `url`, unless `completeUrl` is opened. */
  readonly userCode?: string;
  readonly completeUrl?: string;
  readonly scope: readonly string[];
  /** Another process runs this sign-in; the address works there. */
  readonly elsewhere?: boolean;
}

/**
 * `none`: a 401 is a failure at once. `surface`: the URL is handed to `visit`, nothing is opened. `open`: the same, and the
 * system's browser is opened.
 */
export interface Interaction {
  readonly mode: 'none' | 'surface' | 'open';
  /** Shows the URL. May give back the address that the browser ended on, when it can know it; it is checked like any other. */
  visit?(visit: Visit, signal: AbortSignal): void | string | Promise<void | string>;
  /** Asks for the address that the browser ended on; `problem` says what was wrong with the last one. Races with the listener. */
  paste?(problem: string | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** How long a request waits for the person, milliseconds. Default: 15,000 for `surface`, 300,000 for `open`. The sign-in itself goes on. */
  readonly waitMs?: number;
}
