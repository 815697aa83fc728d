/** Where other programs keep their files, seen from here. */
import { gitRoot } from '../config/locate.ts';
import type { ImportPlaces } from '../config/imports.ts';
import type { Context } from './command.ts';
import { pathsOf } from './open.ts';

export function importPlaces(context: Context, cwd = context.terminal.cwd): ImportPlaces {
  return { home: pathsOf(context).home, platform: process.platform, environment: context.terminal.environment, workspace: gitRoot(cwd) ?? cwd };
}
