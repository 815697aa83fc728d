/** Words of a command line as values of an entry: each key knows what it takes. */
import { Failure } from '../base/failure.ts';
import { isObject, parseJson } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import type { Dialect } from './dialects.ts';

type Kind = 'text' | 'list' | 'map' | 'switch' | 'number' | 'oauth';

const KINDS: Readonly<Record<string, Kind>> = {
  type: 'text', transport: 'text', command: 'list', args: 'list', cwd: 'text', environment: 'map', env: 'map', url: 'text', headers: 'map', headersCommand: 'list', http_headers: 'map', oauth: 'oauth',
  caFile: 'text', certFile: 'text', keyFile: 'text', enabled: 'switch', enable: 'switch', disabled: 'switch', timeout: 'number', timeoutMs: 'number', protocol: 'text', protocolVersion: 'text',
};
/** Members of `oauth` that are no text. */
const OAUTH_KINDS: Readonly<Record<string, Kind>> = {
  callbackPort: 'number', allowMissingPkceMetadata: 'switch', legacyDefaultEndpoints: 'switch', strictIssuer: 'switch', strictResource: 'switch', dpop: 'switch', authorizationParams: 'map', identityProvider: 'map',
};

function refuse(message: string, argument: string, hint: string): Failure {
  return new Failure('USAGE', message, { stage: 'usage', details: { argument }, hint });
}

/** The value that `key=text` means; the word null takes the key out. Fails with USAGE. */
export function typedValue(key: string, text: string): unknown {
  const [head = '', ...rest] = key.split('.');
  const kind = Object.hasOwn(KINDS, head) ? KINDS[head]! : undefined;
  if (kind === undefined) {
    const near = nearest(head, Object.keys(KINDS), 1)[0];
    throw refuse(`Cannot set "${head}": a server has no such key${near === undefined ? '' : `; did you mean "${near}"?`}`, head, 'zuno-lite mcp set --help');
  }
  const inner = rest.join('.');
  if (inner !== '' && kind !== 'map' && kind !== 'oauth') throw refuse(`Cannot set "${key}": "${head}" has no members`, key, `for instance ${head}=VALUE`);
  if (text === 'null') return null;
  if (inner === '') return typed(kind, key, text);
  return typed(kind === 'map' ? 'text' : (Object.hasOwn(OAUTH_KINDS, inner) ? OAUTH_KINDS[inner]! : 'text'), key, text);
}

function typed(kind: Kind, key: string, text: string): unknown {
  const json = (): unknown => parseJson(text)?.value;
  switch (kind) {
    case 'text': return text;
    case 'number': {
      if (text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
      throw refuse(`Cannot set "${key}" to "${text}": it must be a number`, key, `for instance ${key}=10000`);
    }
    case 'switch': {
      const word = text.toLowerCase();
      if (['true', 'yes', 'on'].includes(word)) return true;
      if (['false', 'no', 'off'].includes(word)) return false;
      throw refuse(`Cannot set "${key}" to "${text}": it must be true or false`, key, `for instance ${key}=false`);
    }
    case 'list': {
      const value = json();
      if (Array.isArray(value)) return value;
      if (/["'\\[\]]/.test(text) || text.trim() === '') throw refuse(`Cannot set "${key}": quotes and brackets are read as JSON only, and this is none`, key, `for instance ${key}='["node","server.js"]'`);
      return text.trim().split(/\s+/);
    }
    case 'map': case 'oauth': {
      const value = json();
      if (isObject(value) || (kind === 'oauth' && value === false)) return value;
      throw refuse(`Cannot set "${key}": an object is due${kind === 'oauth' ? ', or false' : ''}`, key, `for instance ${key}.NAME=VALUE`);
    }
  }
}

/** The changes in the words of the dialect in which the entry stands. */
export function inDialect(changes: Readonly<Record<string, unknown>>, dialect: Dialect, has: (key: string) => boolean): [string, unknown][] {
  if (dialect.name === 'zuno') return Object.entries(changes);
  const either = (newer: string, older: string): string => (has(older) && !has(newer) ? older : newer);
  return Object.entries(changes).flatMap(([key, value]): [string, unknown][] => {
    const dot = key.indexOf('.'), head = dot === -1 ? key : key.slice(0, dot), tail = dot === -1 ? '' : key.slice(dot);
    switch (head) {
      case 'command': return Array.isArray(value) ? [['command', value[0]], ['args', value.slice(1)]] : value === null ? [['command', null], ['args', null]] : [[key, value]];
      case 'environment': case 'env': return [[either('env', 'environment') + tail, value]];
      case 'headers': case 'http_headers': return [[either('headers', 'http_headers') + tail, value]];
      case 'timeout': return [['timeoutMs', value]];
      case 'protocol': return [[either('protocol', 'protocolVersion'), value]];
      default: return [[key, value]];
    }
  });
}
