/** The roster of wire ids on disk, one file per workspace: a name once given stays with its tool over restarts. */
import * as path from 'node:path';
import { makeDirectory, readText, withLock, writeFileAtomic } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createRoster, loadRoster, saveRoster, type Roster, type RosterStore } from '../registry/roster.ts';
import { workspaceKey } from './identity.ts';

export interface ToolNames {
  roster(): Promise<Roster>;
  /** Writes what is new, together with what other processes noted meanwhile. Names with a digest are safe without it, so a failure only warns. */
  save(): Promise<void>;
}

export function createToolNames(stateDirectory: string, workspace: string, log: Log): ToolNames {
  const directory = path.join(stateDirectory, 'rosters');
  let known: string | undefined;
  const file = (): string => (known ??= path.join(directory, `${workspaceKey(workspace)}.json`));
  const store: RosterStore = {
    read: () => Promise.resolve(readText(file(), limits.rosterBytes)),
    write: (text) => writeFileAtomic(file(), text, { mode: 0o600 }),
  };
  let loaded: Promise<Roster> | undefined;
  const warn = (message: string): void => log({ level: 'warning', event: 'roster', message });
  return {
    roster: () => (loaded ??= load()),
    async save() {
      const roster = await loaded;
      if (roster === undefined || !roster.changed) return;
      try {
        makeDirectory(directory);
        await withLock(`${file()}.lock`, () => saveRoster(roster, store), { waitMs: limits.killTermMs });
      } catch (error) {
        warn(`The roster of tool names was not saved: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  };

  async function load(): Promise<Roster> {
    try {
      const { roster, warning } = await loadRoster(store.read);
      if (warning !== undefined) warn(warning);
      return roster;
    } catch (error) {
      warn(`The roster of tool names cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return createRoster();
    }
  }
}
