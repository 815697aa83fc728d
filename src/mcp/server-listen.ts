/** `subscriptions/listen` (MCP 2026-07-28): what was asked for and is offered, each notification tagged with the id of its request. */
import { isObject, isStringArray, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import { encodeNotification, encodeResult, type Exchange } from '../jsonrpc/serving.ts';
import { invalidParams, methodNotFound, RpcFault } from './server-fault.ts';
import { concerns } from './server-legacy.ts';
import type { Envelope } from './server-modern-call.ts';
import { unsubscribedParams } from './server-notes.ts';
import { META, modernResult } from './server-shape.ts';
import type { Served } from './server-types.ts';
import type { ListKind } from './types.ts';

const LISTS: readonly ListKind[] = ['tools', 'prompts', 'resources'];

/** Open subscriptions, each by how to end it with its last word. */
export type Subscriptions = Set<() => void>;

/** Resolves when the stream is over. Throws what refuses it before anything was sent. */
export async function listen(served: Served, { id, method, params }: Envelope, exchange: Exchange, open: Subscriptions): Promise<void> {
  const offered = (list: ListKind, key: 'listChanged' | 'subscribe'): boolean => {
    const capability = served.capabilities[list];
    return isObject(capability) && capability[key] === true;
  };
  if (!LISTS.some((list) => offered(list, 'listChanged')) && !offered('resources', 'subscribe')) throw methodNotFound(method);
  const wanted = params['notifications'];
  if (!isObject(wanted)) throw invalidParams('Invalid params: notifications is not an object');
  const asked = wanted['resourceSubscriptions'];
  if (asked !== undefined && !isStringArray(asked)) throw invalidParams('Invalid params: resourceSubscriptions is not a list of URIs');
  if (open.size >= limits.subscriptions) throw new RpcFault(codes.internalError, `More than ${limits.subscriptions} subscriptions are open`);
  const uris = new Set(offered('resources', 'subscribe') ? asked : []);
  if (uris.size > limits.subscribedResources) throw new RpcFault(codes.internalError, `More than ${limits.subscribedResources} resources are watched`);
  const lists = LISTS.filter((list) => wanted[`${list}ListChanged`] === true && offered(list, 'listChanged'));
  const honoured: JsonObject = { ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])), ...(asked !== undefined && offered('resources', 'subscribe') ? { resourceSubscriptions: [...uris] } : {}) };

  const say = (name: string, body: JsonObject | undefined): boolean => {
    const meta = body?.['_meta'];
    return exchange.send(encodeNotification(name, { ...body, _meta: { ...(isObject(meta) ? meta : {}), [`${META}subscriptionId`]: id } }));
  };
  let end: () => void = () => {};
  const over = new Promise<void>((resolve) => { end = resolve; });
  const last = (): void => { exchange.answer(encodeResult(id, modernResult(method, { _meta: { [`${META}subscriptionId`]: id } }, served.serverInfo)), 200); end(); };
  open.add(last);
  exchange.signal.addEventListener('abort', end, { once: true });
  if (exchange.signal.aborted) end();
  const watched: string[] = [];
  let unwatch: (() => void) | undefined;
  try {
    for (const uri of uris) { await served.subscribe?.(uri); watched.push(uri); }
    if (!say('notifications/subscriptions/acknowledged', { notifications: honoured })) throw new RpcFault(codes.invalidRequest, 'A subscription needs a client that accepts text/event-stream');
    unwatch = served.watch?.((change) => {
      if (change.kind === 'list_changed') { if (lists.includes(change.list)) say(`notifications/${change.list}/list_changed`, unsubscribedParams(change.params)); }
      else if (change.kind === 'resource_updated' && concerns(uris, change.uri)) say('notifications/resources/updated', { ...unsubscribedParams(change.params), uri: change.uri });
    });
    await over;
  } finally {
    open.delete(last);
    exchange.signal.removeEventListener('abort', end);
    unwatch?.();
    for (const uri of watched) await served.unsubscribe?.(uri);
  }
}
