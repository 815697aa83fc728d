/** Who we are at one authorization server, with what is kept of it between runs. */
import { isUsable, planClient, register, registeredClient } from './registration.ts';
import { registrationAt, withRegistration } from './record.ts';
import type { CredentialStore } from './store.ts';
import type { AuthorizationServer, Clients, OAuthRequest, OAuthSettings } from './types.ts';

export interface ClientsOptions {
  readonly name: string;
  readonly settings: OAuthSettings;
  readonly server: AuthorizationServer;
  readonly store: CredentialStore;
  readonly request: OAuthRequest;
  readonly scope: readonly string[];
  readonly signal: AbortSignal;
  /** Told each secret that the server gives out. */
  readonly secret: (value: string) => void;
}

export function createClients({ name, settings, server, store, request, scope, signal, secret }: ClientsOptions): Clients {
  const kept = (): ReturnType<Clients['registration']> => registrationAt(store.read(), server.issuer);
  return {
    plan: (redirectUri) => planClient(settings, server, name, redirectUri),
    registration(grantTypes) {
      const found = kept();
      return found !== undefined && isUsable(found, undefined, grantTypes) ? found : undefined;
    },
    async register(redirectUri, extraGrants = []) {
      const found = kept();
      if (found !== undefined && isUsable(found, redirectUri, ['authorization_code', ...extraGrants], scope)) return registeredClient(found);
      const made = await register({ name, settings, server, request, scope, signal, extraGrants }, redirectUri);
      if (made.clientSecret !== undefined) secret(made.clientSecret);
      await store.locked(async (inside) => { await inside.write(withRegistration(inside.read() ?? store.empty, server.issuer, made)); });
      return registeredClient(made);
    },
    async forget(clientId) {
      await store.locked(async (inside) => {
        const record = inside.read();
        if (record !== undefined && registrationAt(record, server.issuer)?.clientId === clientId) await inside.write(withRegistration(record, server.issuer, undefined));
      });
    },
  };
}
