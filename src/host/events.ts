/** Who hears what happens to servers. A listener that throws harms nobody. */
import type { Log } from '../base/log.ts';
import type { HostEvent } from './types.ts';

export interface Events {
  emit(event: HostEvent): void;
  /** Adds a listener; returns how to remove it. */
  on(listener: (event: HostEvent) => void): () => void;
}

export function createEvents(log?: Log): Events {
  // Kept by an object of its own each, so that one function may listen twice and leave once.
  const listeners = new Set<{ readonly hear: (event: HostEvent) => void }>();
  return {
    emit(event) {
      for (const listener of [...listeners]) {
        if (!listeners.has(listener)) continue;
        try {
          listener.hear(event);
        } catch (error) {
          log?.({ level: 'warning', event: 'host.listener', message: `A listener for "${event.kind}" failed: ${error instanceof Error ? error.message : String(error)}` });
        }
      }
    },
    on(hear) {
      const listener = { hear };
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
  };
}
