/** Every way to get tokens. */
import { authorizationCode } from './authorization-code.ts';
import { clientCredentials } from './client-credentials.ts';
import { deviceCode } from './device.ts';
import { enterpriseManaged } from './enterprise.ts';
import { workloadJwt } from './workload.ts';
import type { Grant, GrantType } from './types.ts';

export const grants: Readonly<Record<GrantType, Grant>> = {
  authorization_code: authorizationCode,
  client_credentials: clientCredentials,
  device_code: deviceCode,
  enterprise_managed: enterpriseManaged,
  workload_jwt: workloadJwt,
};
