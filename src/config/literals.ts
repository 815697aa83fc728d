/** Secrets that are about to be written as they are, and the form that keeps them out of the file. */
import { isObject } from '../base/json.ts';
import { redactPatterns } from '../base/redact.ts';

export interface LiteralSecret {
  /** Dotted, inside the entry. */
  readonly key: string;
  /** What to write instead; it completes a sentence. */
  readonly advice: string;
  /** Long enough to be one. */
  readonly strong: boolean;
}

const REFERENCE = /\{(?:env|file):[^{}]+\}/;
/** A credential of fewer characters is an example. */
const LEAST = 6;

/** What of an entry, or of changes of one (dotted keys), looks like a secret and is no reference. */
export function literalSecrets(name: string, entry: Readonly<Record<string, unknown>>): LiteralSecret[] {
  const variable = `${name.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '').toUpperCase() || 'SERVER'}_TOKEN`;
  return textsOf(entry, '').flatMap(({ key, text }) => {
    const last = key.split('.').at(-1)!;
    const line = `${JSON.stringify(last)}: ${JSON.stringify(text)}`;
    if (REFERENCE.test(text) || (redactPatterns(line) === line && last !== 'clientSecret')) return [];
    const inMap = /^(?:headers|http_headers|environment|env)\./.test(key);
    const scheme = inMap ? /^(?:Bearer|Basic|Token|DPoP) +/i.exec(text)?.[0] ?? '' : '';
    const advice = inMap ? `put the value into a variable and write "${scheme}{env:${variable}}"` : `write {env:${variable}} in its place`;
    return [{ key, advice, strong: !inMap || text.length - scheme.length >= LEAST }];
  });
}

function textsOf(value: unknown, key: string): { readonly key: string; readonly text: string }[] {
  const under = (step: string): string => (key === '' ? step : `${key}.${step}`);
  if (typeof value === 'string') return [{ key, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsOf(item, under(String(index))));
  return isObject(value) ? Object.entries(value).flatMap(([step, item]) => textsOf(item, under(step))) : [];
}
