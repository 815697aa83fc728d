/** Configured values as they may be shown: references by name, everything that may be a secret as three stars. */
import { MASK, redactPatterns } from '../base/redact.ts';

/** A value that is a secret until proven otherwise. References stay readable, and so does the scheme in front of a credential. */
export function maskText(value: string): string {
  const [scheme = ''] = /^(?:Bearer|Basic|Token|DPoP) +/i.exec(value) ?? [];
  const parts = value.slice(scheme.length).split(/(\{(?:env|file):[^{}]+\}|\$\{[^{}]+\})/);
  return scheme + parts.map((part, index) => (index % 2 === 1 || part === '' ? part : MASK)).join('');
}

/** A value in the query of a URL may be a secret whatever it is called. */
export function maskUrl(url: string): string {
  return redactPatterns(url).replace(/([?&][^=&#"\s]+=)(?!\{(?:env|file):|\$\{)[^&#"\s]+/g, `$1${MASK}`);
}

/** Every text inside a value, masked by `mask`; numbers and switches tell nothing. */
export function maskDeep(value: unknown, mask: (text: string) => string = redactPatterns): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskDeep(item, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskDeep(item, mask)]));
}
