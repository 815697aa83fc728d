/**
 * Who speaks for us at a remote server, first come first served: the embedding program's identity, a program that prints headers, a fixed
 * `Authorization` header, signing in (OAUTH.md 1.1). Loaded on need, one of them at most.
 */
import type { Log } from '../base/log.ts';
import type { RemoteEntry } from '../config/types.ts';
import type { SendRequest } from '../http/types.ts';
import { withoutOurHeaders } from '../transports/handover.ts';
import type { ConnectContext, Secrets } from './carrier.ts';
import { oauthOptions, type Reached } from './sign-in.ts';

/** The same requests with the credentials of this entry. Fails with VARIABLE_UNSET, CONFIG_INVALID, CONFIG_UNREADABLE. */
export async function authorized(send: SendRequest, entry: RemoteEntry, reached: Reached, context: ConnectContext, secrets: Secrets): Promise<SendRequest> {
  const { name } = entry, { environment, data, trees } = context, { redact, add: secret } = secrets;
  const log: Log = (line) => context.log({ ...line, message: redact(line.message) });
  const provider = context.identityFor(entry);
  if (provider !== undefined) {
    const { withIdentity } = await import('../oauth/identity.ts');
    return withIdentity(send, { name, provider, without: withoutOurHeaders, secret });
  }
  if (entry.headersCommand !== undefined) {
    const { words, directory, origin } = entry.headersCommand;
    if (typeof entry.oauth === 'object') log({ level: 'warning', event: 'oauth.header-wins', message: `Server "${name}" has a headersCommand and an oauth object: the headers are sent, the oauth object is not used` });
    const { withHeadersCommand } = await import('./headers-command.ts');
    return withHeadersCommand(send, { name, url: reached.url, words: words.map((word, index) => secrets.take(word, `headersCommand[${index}]`)), directory, origin, environment, trees, log, redact, secret });
  }
  const { createOAuth } = await import('../oauth/oauth.ts');
  return context.signIns.of(name, () => createOAuth(oauthOptions(entry, reached, { environment, data, log, secret, interaction: context.interactionFor(entry) }))).authorize(send);
}
