/** What a running request tells on its way: progress for the caller's token alone and only upwards, logs from the level on that was asked for. */
import { isObject, type JsonObject } from '../base/json.ts';
import type { Id } from '../jsonrpc/message.ts';
import { encodeNotification } from '../jsonrpc/serving.ts';

const levels: readonly string[] = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export function isLogLevel(value: unknown): value is string {
  return typeof value === 'string' && levels.includes(value);
}

/** Whether an entry is to be sent; no `least` level means all of them. */
export function isLoud(entry: JsonObject, least: string | undefined): boolean {
  return isLogLevel(entry['level']) && (least === undefined || levels.indexOf(entry['level']) >= levels.indexOf(least));
}

export function progressToken(meta: JsonObject): Id | undefined {
  const token = meta['progressToken'];
  return typeof token === 'string' || (typeof token === 'number' && Number.isInteger(token)) ? token : undefined;
}

/** Sends the progress of one request. `token` may change when a suspended call goes on. */
export function createProgress(token: () => Id | undefined, send: (text: string) => void): (note: JsonObject) => void {
  let last = -Infinity;
  return (note) => {
    const current = token(), { progress } = note;
    if (current === undefined || typeof progress !== 'number' || !(progress > last)) return;
    last = progress;
    send(encodeNotification('notifications/progress', { ...note, progressToken: current }));
  };
}

/** `params` as an upstream sent them, without the name of its own subscription. */
export function unsubscribedParams(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.['_meta'];
  if (!isObject(meta) || !Object.hasOwn(meta, 'io.modelcontextprotocol/subscriptionId')) return params;
  const { 'io.modelcontextprotocol/subscriptionId': _own, ...rest } = meta;
  const { _meta, ...others } = params!;
  return Object.keys(rest).length === 0 ? others : { ...others, _meta: rest };
}
