/** The `oauth` object of an entry, checked: every complaint with the pointer of its member (OAUTH.md 1.1). */
import { isLoopbackHost } from '../http/addresses.ts';
import { parseUrl } from '../http/url.ts';
import { isObject, isStringMap, pointerStep } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import { Failure } from '../base/failure.ts';
import { signingKey } from './jwt.ts';
import { parseScope } from './scope.ts';
import { urlProblem } from './endpoints.ts';
import type { AnyFailure, Problem } from '../base/failure.ts';
import type { JsonObject } from '../base/json.ts';
import type { ClientAuthMethod, GrantType, OAuthSettings } from './types.ts';

const TYPES: readonly GrantType[] = ['authorization_code', 'client_credentials', 'device_code', 'enterprise_managed', 'workload_jwt'];
const METHODS: readonly ClientAuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];

/** A check answers with what is wrong, in words that complete "must be ...". */
type Check = (value: unknown) => string | undefined;
const text: Check = (value) => (typeof value === 'string' && value !== '' ? undefined : 'must be a text that is not empty');
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const oneOf = (list: readonly string[]): Check => (value) => (list.includes(value as string) ? undefined : `must be one of ${list.join(', ')}`);
const address: Check = (value) => {
  if (typeof value !== 'string') return 'must be a URL';
  const problem = urlProblem(value);
  return problem === undefined ? undefined : `must be an https URL: it ${problem}`;
};
const absolute: Check = (value) => (typeof value === 'string' && parseUrl(value) !== undefined && !value.includes('#') ? undefined : 'must be an absolute URI without fragment');
const redirect: Check = (value) => {
  const url = typeof value === 'string' ? parseUrl(value) : undefined;
  if (url === undefined || url.hash !== '') return 'must be a URL without fragment';
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname)) ? undefined : 'must be http on this machine (127.0.0.1, [::1], localhost), or https';
};
const port: Check = (value) => (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535 ? undefined : 'must be a port, 1 to 65535');
const document: Check = (value) => {
  const url = typeof value === 'string' ? parseUrl(value) : undefined;
  return url !== undefined && url.protocol === 'https:' && url.pathname !== '/' && url.hash === '' && url.username === '' && url.password === '' ? undefined : 'must be an https URL with a path';
};

const CHECKS: Readonly<Record<string, Check>> = {
  type: oneOf(TYPES), clientId: text, clientSecret: text, clientName: text, callbackPort: port, redirectUri: redirect, issuer: address,
  scope: (value) => (typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string')) ? undefined : 'must be scopes separated by blanks'),
  resource: (value) => (value === false ? undefined : absolute(value)),
  tokenEndpointAuthMethod: oneOf(METHODS), privateKey: text, privateKeyFile: text, privateKeyId: text, signingAlg: text,
  clientMetadataUrl: document, authorizationParams: (value) => (isStringMap(value) ? undefined : 'must be an object of texts'),
  allowMissingPkceMetadata: flag, legacyDefaultEndpoints: flag, strictIssuer: flag, strictResource: flag, dpop: flag,
  identityProvider: (value) => (isObject(value) ? undefined : 'must be an object'), assertion: text, assertionFile: text,
};
const PROVIDER: Readonly<Record<string, Check>> = { tokenEndpoint: address, clientId: text, clientSecret: text, subjectToken: text, subjectTokenType: text };
const PROVIDER_NEEDS: readonly string[] = ['tokenEndpoint', 'clientId', 'subjectToken'];

/** Everything that is wrong with the value, with JSON Pointers below `/oauth`. */
export function settingsProblems(value: unknown): Problem[] {
  if (value === undefined || value === false) return [];
  if (!isObject(value)) return [{ pointer: '/oauth', message: 'must be an object or false' }];
  const problems = [...problemsOf(value, CHECKS, '/oauth'), ...demands(value)];
  const provider = value['identityProvider'];
  if (isObject(provider)) {
    problems.push(...problemsOf(provider, PROVIDER, '/oauth/identityProvider'));
    for (const key of PROVIDER_NEEDS) if (provider[key] === undefined) problems.push({ pointer: '/oauth/identityProvider', message: `needs ${key}` });
  }
  return problems;
}

function problemsOf(value: JsonObject, checks: Readonly<Record<string, Check>>, pointer: string): Problem[] {
  return Object.entries(value).flatMap(([key, member]) => {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    const near = check === undefined ? nearest(key, Object.keys(checks), 1)[0] : undefined;
    const message = check === undefined ? `is not known${near === undefined ? '' : `; did you mean "${near}"?`}` : check(member);
    return message === undefined ? [] : [{ pointer: `${pointer}${pointerStep(key)}`, message }];
  });
}

/** What one member demands of another. */
function demands(value: JsonObject): Problem[] {
  const problems: Problem[] = [];
  const need = (key: string, why: string): void => { if (value[key] === undefined) problems.push({ pointer: '/oauth', message: `needs ${key} ${why}` }); };
  const type = value['type'] ?? 'authorization_code';
  if (type === 'client_credentials' || type === 'enterprise_managed') need('clientId', `for the type ${type}`);
  if (type === 'client_credentials' && value['clientSecret'] === undefined && value['privateKey'] === undefined && value['privateKeyFile'] === undefined) {
    problems.push({ pointer: '/oauth', message: 'needs clientSecret or privateKeyFile for the type client_credentials' });
  }
  if (type === 'enterprise_managed') need('identityProvider', `for the type ${type}`);
  if (type === 'workload_jwt' && value['assertion'] === undefined && value['assertionFile'] === undefined) need('assertionFile', `for the type ${type}`);
  if (value['clientSecret'] !== undefined) need('clientId', 'beside clientSecret');
  if (value['tokenEndpointAuthMethod'] === 'private_key_jwt' && value['privateKey'] === undefined) need('privateKeyFile', 'for private_key_jwt');
  return problems;
}

export interface SettingsSources {
  /** The text of a file that is named in the settings; undefined when there is none. */
  readonly readText: (file: string) => string | undefined;
}

/** Checked settings. Fails with CONFIG_INVALID, all problems at once. */
export function readSettings(value: unknown, name: string, { readText }: SettingsSources): OAuthSettings {
  const problems = settingsProblems(value);
  if (problems.length > 0) throw invalid(name, problems);
  const { scope, privateKeyFile, ...rest } = (value ?? {}) as JsonObject & Partial<OAuthSettings> & { readonly privateKeyFile?: string };
  const pem = rest.privateKey ?? (privateKeyFile === undefined ? undefined : readText(privateKeyFile));
  const keyAt = privateKeyFile === undefined ? '/oauth/privateKey' : '/oauth/privateKeyFile';
  if (privateKeyFile !== undefined && pem === undefined) throw invalid(name, [{ pointer: keyAt, message: 'names a file that does not exist' }]);
  if (pem !== undefined && signingKey(pem, rest.signingAlg) === undefined) throw invalid(name, [{ pointer: keyAt, message: 'holds no private key (PEM: EC P-256 or P-384, RSA, Ed25519) that fits signingAlg' }]);
  const scopes = typeof scope === 'string' ? parseScope(scope) : scope === undefined ? undefined : [...scope];
  return { ...rest, type: rest.type ?? 'authorization_code', ...(scopes !== undefined && { scope: scopes }), ...(pem !== undefined && { privateKey: pem }) };
}

function invalid(name: string, problems: readonly Problem[]): AnyFailure {
  const [first] = problems;
  return new Failure('CONFIG_INVALID', `Cannot use the oauth settings of "${name}": ${first!.pointer} ${first!.message}${problems.length > 1 ? `, and ${problems.length - 1} more` : ''}`, {
    stage: 'config', details: { problems },
  }) as AnyFailure;
}

/** Values of the settings that must never show. */
export function secretsOf(settings: OAuthSettings): string[] {
  const { clientSecret, privateKey, assertion, identityProvider } = settings;
  return [clientSecret, privateKey, assertion, identityProvider?.clientSecret, identityProvider?.subjectToken].filter((one) => one !== undefined);
}
