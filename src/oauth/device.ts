/** Signing in with a code on another device (RFC 8628): for machines without a browser. */
import { delay, startDeadline } from '../base/deadline.ts';
import { isFailure } from '../base/failure.ts';
import { isObject, parseJson } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { statusFailure } from '../http/answers.ts';
import { authenticateClient } from './client-auth.ts';
import { textMember } from './document.ts';
import { endpointProblem } from './endpoints.ts';
import { canceled, cleaned, isTemporary, loginRefused, temporary } from './failures.ts';
import { DEVICE_GRANT } from './registration.ts';
import { CALLBACK_PATH, DEFAULT_CALLBACK_PORT } from './redirect.ts';
import { formOf, refusedFailure, requestToken, tokensOf } from './token.ts';
import type { AnyFailure } from '../base/failure.ts';
import type { ClientIdentity, Grant, GrantContext, Obtained } from './types.ts';

export const deviceCode: Grant = { type: 'device_code', interactive: true, stored: true, obtain };

interface DeviceAnswer {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly url: string;
  readonly completeUrl: string | undefined;
  readonly expiresInMs: number;
  readonly intervalMs: number;
}

async function obtain(context: GrantContext): Promise<Obtained> {
  const { name, settings, discovery: { server }, clients } = context;
  if (server.device_authorization_endpoint === undefined) throw loginRefused(name, 'device_unsupported', `${cleaned(server.issuer)} offers no device sign-in`, 'Sign in with a browser, or paste the address it ends on');
  // A registration names a redirect URI even where none is used.
  const redirectUri = settings.redirectUri ?? `http://127.0.0.1:${settings.callbackPort ?? DEFAULT_CALLBACK_PORT}${CALLBACK_PATH}/${encodeURIComponent(name)}`;
  const plan = clients.plan(redirectUri);
  const client = plan.kind === 'ready' ? plan.client : await clients.register(clients.registration([DEVICE_GRANT])?.redirectUri ?? redirectUri, [DEVICE_GRANT]);
  const device = await requestDevice(context, client, server.device_authorization_endpoint);
  const deadline = startDeadline(device.expiresInMs, context.signal);
  try {
    void context.show({
      url: device.url, userCode: device.userCode, host: new URL(device.url).host, scope: context.scope, expiresAt: Date.now() + device.expiresInMs, listening: false,
      ...(device.completeUrl !== undefined && { completeUrl: device.completeUrl }),
    }).catch(() => {});
    return await poll(context, client, device, deadline.signal);
  } catch (error) {
    if (deadline.expired && !(isFailure(error) && error.code === 'LOGIN_REFUSED')) throw loginRefused(name, 'device_expired', 'the code has expired', 'Run the command again');
    throw error;
  } finally {
    deadline.dispose();
  }
}

async function requestDevice({ name, request, discovery, scope, signal }: GrantContext, client: ClientIdentity, endpoint: string): Promise<DeviceAnswer> {
  const auth = authenticateClient(client, discovery.server, name);
  const answer = await request('device', endpoint, {
    method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...auth.headers }, signal,
    body: formOf({ scope: scope.length === 0 ? undefined : scope.join(' '), resource: discovery.resource, ...auth.parameters }),
  });
  const value = parseJson(answer.body)?.value;
  const document = isObject(value) ? value : {};
  const who = cleaned(discovery.server.issuer);
  const error = textMember(document, 'error');
  if (error !== undefined && answer.status < 500) throw refusedFailure(name, discovery.server.issuer, client, { kind: 'refused', error: cleaned(error), description: cleaned(textMember(document, 'error_description') ?? ''), status: answer.status }, discovery.resource);
  if (answer.status !== 200) throw temporary(`start the device sign-in to "${name}"`, statusFailure({ ...answer, stage: 'auth' }));
  const unusable = (field: string): AnyFailure => loginRefused(name, 'bad_token_response', `${who} sent an unusable answer (${field})`, 'This is a fault of the sign-in service');
  const deviceCode = textMember(document, 'device_code'), userCode = cleaned(textMember(document, 'user_code') ?? '');
  const url = textMember(document, 'verification_uri'), completeUrl = textMember(document, 'verification_uri_complete');
  if (deviceCode === undefined || deviceCode === '') throw unusable('device_code');
  if (userCode === '') throw unusable('user_code');
  if (url === undefined || endpointProblem(url) !== undefined) throw unusable('verification_uri');
  const expires = Number(document['expires_in']), interval = Number(document['interval'] ?? NaN);
  return {
    deviceCode, userCode, url, completeUrl: completeUrl !== undefined && endpointProblem(completeUrl) === undefined ? completeUrl : undefined,
    expiresInMs: Math.min(expires > 0 ? expires * 1000 : limits.oauthInteractiveMs, limits.deviceCodeMs), intervalMs: interval > 0 ? interval * 1000 : limits.devicePollMs,
  };
}

/** Never faster than the interval, which `slow_down` lengthens for good and trouble of the network doubles. */
async function poll(context: GrantContext, client: ClientIdentity, device: DeviceAnswer, signal: AbortSignal): Promise<Obtained> {
  const { name, request, discovery, scope, proofs } = context;
  const { server, resource } = discovery;
  for (let intervalMs = device.intervalMs; ;) {
    await delay(intervalMs, signal);
    if (signal.aborted) throw canceled(`sign in to "${name}"`);
    const outcome = await requestToken({ name, request, server, client, proofs, signal, parameters: { grant_type: DEVICE_GRANT, device_code: device.deviceCode, resource } });
    switch (outcome.kind) {
      case 'granted': return { tokens: tokensOf(discovery, client, scope, outcome.granted, proofs) };
      case 'temporary':
        if (!isTemporary(outcome.failure)) throw outcome.failure;
        intervalMs = Math.min(Math.max(intervalMs * 2, outcome.retryAfterMs ?? 0), limits.devicePollCapMs);
        break;
      case 'refused':
        if (outcome.error === 'authorization_pending') break;
        if (outcome.error === 'slow_down') { intervalMs += limits.devicePollMs; break; }
        if (outcome.error === 'access_denied') throw loginRefused(name, 'access_denied', `access was refused at ${cleaned(server.issuer)}`, 'Run the command again to try with another account');
        if (outcome.error === 'expired_token') throw loginRefused(name, 'device_expired', 'the code has expired', 'Run the command again');
        throw refusedFailure(name, server.issuer, client, outcome, resource);
    }
  }
}
