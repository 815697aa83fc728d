/**
 * `WWW-Authenticate` (RFC 9110 section 11.6.1): one or more challenges in one or more header values. By the grammar, and beyond it where
 * real servers are: bare values such as URLs, and blanks in place of commas. What cannot be read ends the reading; what stood before counts.
 */

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly token68?: string;
  /** Names in lower case; in order, repeated ones included. */
  readonly params: readonly (readonly [name: string, value: string])[];
}

/** The first parameter of that name. */
export function challengeParam(challenge: Challenge, name: string): string | undefined {
  return challenge.params.find(([key]) => key === name.toLowerCase())?.[1];
}

/** All values of that name, in order. */
export function challengeParams(challenge: Challenge, name: string): string[] {
  return challenge.params.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
}

// Sticky and without alternatives that overlap: each reads its run once, so the whole is linear.
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const BLANKS = /[ \t]*/y;
const BLANKS_AND_COMMAS = /[ \t,]*/y;
const TOKEN68 = /[A-Za-z0-9._~+/-]+=*/y;
const QUOTED = /"((?:[^"\\]|\\[^])*)"/y;
const BARE = /[^\s",]+/y;

export function parseChallenges(header: string | readonly string[] | null | undefined): Challenge[] {
  const values = header === null || header === undefined ? [] : typeof header === 'string' ? [header] : header;
  return values.flatMap(parseOne);
}

function parseOne(text: string): Challenge[] {
  let at = 0;
  const read = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at = pattern.lastIndex;
    return found[1] ?? found[0];
  };
  const value = (): string | undefined => {
    if (text[at] === '"') return read(QUOTED)?.replace(/\\([^])/g, '$1');
    return read(BARE);
  };
  /** `name BWS = BWS value`; leaves the place untouched when it is none. */
  const param = (): readonly [string, string] | undefined => {
    const start = at;
    const name = read(TOKEN);
    read(BLANKS);
    if (name !== undefined && text[at] === '=') {
      at += 1;
      read(BLANKS);
      const its = value();
      if (its !== undefined) return [name.toLowerCase(), its];
    }
    at = start;
    return undefined;
  };

  const challenges: Challenge[] = [];
  for (read(BLANKS_AND_COMMAS); at < text.length; read(BLANKS_AND_COMMAS)) {
    const scheme = read(TOKEN);
    if (scheme === undefined || (at < text.length && !/[ \t,]/.test(text[at]!))) break;
    const params: (readonly [string, string])[] = [];
    let token68: string | undefined;
    if (read(BLANKS) !== '') {
      const start = at;
      token68 = read(TOKEN68);
      read(BLANKS);
      if (token68 !== undefined && at < text.length && text[at] !== ',') {
        token68 = undefined;
        at = start;
      }
    }
    if (token68 === undefined) {
      for (;;) {
        const start = at;
        read(BLANKS_AND_COMMAS);
        const next = param();
        if (next === undefined) { at = start; break; }
        params.push(next);
      }
    }
    challenges.push({ scheme: scheme.toLowerCase(), ...(token68 !== undefined && { token68 }), params });
  }
  return challenges;
}
