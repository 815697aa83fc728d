/** A workload that its platform has given a JWT: presented as it is, read again each time, since platforms rotate it. */
import { readText } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { configuredClient } from './client-auth.ts';
import { loginRefused } from './failures.ts';
import { presentAssertion } from './jwt-bearer.ts';
import type { ClientIdentity, Grant, GrantContext, Obtained } from './types.ts';

export const workloadJwt: Grant = { type: 'workload_jwt', interactive: false, stored: false, obtain };

async function obtain(context: GrantContext): Promise<Obtained> {
  const { name, settings, discovery } = context;
  const file = settings.assertionFile;
  const assertion = (settings.assertion ?? (file === undefined ? undefined : readText(file, limits.oauthDocumentBytes)))?.trim();
  if (assertion === undefined || assertion === '') throw loginRefused(name, 'assertion_missing', file === undefined ? 'there is no workload JWT' : `there is no workload JWT in "${file}"`, 'Set oauth.assertionFile to the file that the platform writes');
  return presentAssertion(context, configuredClient(settings, discovery.server) ?? anonymous(settings.clientId), assertion);
}

/** The assertion says who it is; a client id beside it is optional. */
function anonymous(clientId = ''): ClientIdentity {
  return { kind: 'configured', clientId, method: 'none' };
}
