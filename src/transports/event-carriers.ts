/** The event streams that are on the wire: kept alive while they are quiet, cut when their client does not read. */
import { now } from '../base/deadline.ts';
import { limits } from '../base/limits.ts';
import { encodeComment } from '../http/event-stream.ts';
import type { InboundRequest, ReplyHeaders } from '../http/serve.ts';

export interface Carrier {
  write(text: string): void;
  /** Bytes that its client has not taken. */
  readonly backlog: number;
  end(): void;
  /** Told once when the client is gone; not after `end`. */
  onGone(listener: () => void): void;
}

export interface Carriers {
  open(request: InboundRequest, headers?: ReplyHeaders): Carrier;
  /** To be called now and then. */
  tick(): void;
}

export function createCarriers(): Carriers {
  const open = new Set<{ readonly carrier: Carrier; readonly quietSince: () => number; readonly cut: () => void }>();
  return {
    open(request, headers) {
      const stream = request.stream(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...headers });
      let wroteAt = now(), over = false;
      let gone: (() => void) | undefined;
      const carrier: Carrier = {
        write(text) {
          if (over) return;
          wroteAt = now();
          stream.write(text);
        },
        get backlog() { return stream.backlog; },
        end() {
          if (over) return;
          over = true;
          open.delete(entry);
          stream.end();
        },
        onGone(listener) { gone = listener; if (lost) listener(); },
      };
      let lost = false;
      const entry = { carrier, quietSince: () => wroteAt, cut: () => stream.destroy() };
      open.add(entry);
      request.onGone(() => {
        if (over) return;
        over = lost = true;
        open.delete(entry);
        gone?.();
      });
      return carrier;
    },
    tick() {
      const time = now();
      for (const { carrier, quietSince, cut } of [...open]) {
        if (carrier.backlog > limits.serverBacklogBytesMax) cut();
        else if (time - quietSince() >= limits.serverKeepAliveMs) carrier.write(encodeComment('keep-alive'));
      }
    },
  };
}
