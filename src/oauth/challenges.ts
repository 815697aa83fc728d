/** What a refusal of the server asks for: the Bearer and DPoP challenges of a 401 or 403, read as one. */
import { challengeParam, challengeParams, parseChallenges } from '../http/challenge.ts';
import { parseScope } from './scope.ts';
import type { ResponseHeaders } from '../http/types.ts';
import type { AuthChallenge } from './types.ts';

/** No header at all is normal: an empty challenge. The first value of a parameter wins; of metadata URLs the others are tried after it. */
export function readChallenge(headers: ResponseHeaders): AuthChallenge {
  const all = parseChallenges(headers['www-authenticate']).filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop');
  const first = (name: string): string | undefined => all.map((one) => challengeParam(one, name)).find((value) => value !== undefined);
  const error = first('error');
  return {
    metadataUrls: [...new Set(all.flatMap((one) => challengeParams(one, 'resource_metadata')))].slice(0, 3),
    scope: parseScope(first('scope')),
    ...(error !== undefined && { error }),
    dpopOnly: all.length > 0 && all.every(({ scheme }) => scheme === 'dpop'),
  };
}

export const noChallenge: AuthChallenge = { metadataUrls: [], scope: [], dpopOnly: false };
