/**
 * States that a client carries for us between two requests (MCP 2026-07-28, `requestState`): encrypted and authenticated under a key
 * that lives and dies with the server, bound to whom, to which method and to which parameters they were given, good until they expire
 * and good once. What comes back is hostile until all of that is proved.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { now } from '../base/deadline.ts';
import { canonicalJson, isObject, parseJson, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';

/** What a state is good for. */
export interface Binding { readonly principal: string; readonly method: string; readonly params: JsonObject }

export interface OpenedState {
  readonly content: JsonObject;
  /** Uses it up; false when it was used before. */
  spend(): boolean;
}

export interface Seal {
  seal(content: JsonObject, binding: Binding): string;
  /** `undefined` for everything that is not a state of ours, for this very request, in time. */
  open(token: string, binding: Binding): OpenedState | undefined;
}

const IV = 12, TAG = 16;
/** Of a retry and its original, these alone may differ. */
const LOOSE: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

export function createSeal(lifeMs: number): Seal {
  const key = randomBytes(32);
  let issued = 0;
  /** Numbers of spent states above `floor`. The set is bounded by raising the floor: what lies under it counts as spent. */
  const spent = new Set<number>();
  let floor = 0;

  function spend(nth: number): boolean {
    if (nth <= floor || spent.has(nth)) return false;
    spent.add(nth);
    if (spent.size > limits.spentStates) {
      for (const old of spent) { spent.delete(old); floor = Math.max(floor, old); break; }
    }
    return true;
  }

  return {
    seal(content, binding) {
      const iv = randomBytes(IV);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(bound(binding));
      const text = JSON.stringify({ nth: ++issued, until: now() + lifeMs, content });
      return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
    },
    open(token, binding) {
      if (token.length > 2 * limits.requestStateBytes) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      // The decoder skips what it does not know: only the one spelling that we gave out counts.
      if (bytes.length < IV + TAG || bytes.toString('base64url') !== token) return undefined;
      let text: string;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV)).setAAD(bound(binding)).setAuthTag(bytes.subarray(-TAG));
        text = decipher.update(bytes.subarray(IV, -TAG)).toString('utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
      const state = parseJson(text)?.value as { readonly nth: number; readonly until: number; readonly content: unknown };
      if (state.until < now() || state.nth <= floor || spent.has(state.nth) || !isObject(state.content)) return undefined;
      return { content: state.content, spend: () => spend(state.nth) };
    },
  };
}

function bound({ principal, method, params }: Binding): Buffer {
  const same = Object.fromEntries(Object.entries(params).filter(([name]) => !LOOSE.has(name)));
  return createHash('sha256').update(canonicalJson([principal, method, same])).digest();
}
