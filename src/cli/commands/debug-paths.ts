import * as path from 'node:path';
import { exists } from '../../base/files.ts';
import { gitRoot, projectLayersOn, projectWalk } from '../../config/locate.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { pathsOf } from '../open.ts';
import { bold, dim } from '../span.ts';

interface Place { readonly name: string; readonly path: string; readonly about: string }

function placesOf(context: Context): Place[] {
  const { environment, cwd } = context.terminal;
  const paths = pathsOf(context);
  return [
    { name: 'config', path: paths.config, about: 'your zuno.json' },
    { name: 'data', path: paths.data, about: 'what has to stay: credentials, artifacts' },
    { name: 'credentials', path: path.join(paths.data, 'credentials'), about: 'one file for each sign-in, readable to you alone' },
    { name: 'cache', path: paths.cache, about: 'may be deleted at any time' },
    { name: 'state', path: paths.state, about: 'names of tools, what is known of servers' },
    { name: 'home', path: path.join(paths.home, '.zuno'), about: 'trusted, too' },
    { name: 'managed', path: paths.managed, about: "an administrator's settings, above yours" },
    ...(paths.managedPreferences ?? []).map((file): Place => ({ name: 'managed preferences', path: file, about: 'from a device management' })),
    { name: 'workspace', path: gitRoot(cwd) ?? cwd, about: gitRoot(cwd) === undefined ? 'the working directory; there is no Git checkout around it' : 'the Git checkout around the working directory' },
    ...(projectLayersOn(environment) ? projectWalk(cwd) : []).map((directory): Place => ({ name: 'project', path: directory, about: 'zuno.json[c] and .zuno/ in it are read, untrusted' })),
    ...['ZUNO_CONFIG', 'ZUNO_CONFIG_DIR'].flatMap((name): Place[] => { const value = environment[name]; return value === undefined || value.trim() === '' ? [] : [{ name, path: path.resolve(cwd, value), about: 'named by that variable' }]; }),
  ];
}

async function run(context: Context): Promise<number> {
  const { terminal, json } = context;
  const places = placesOf(context).map((place) => ({ ...place, exists: exists(place.path) }));
  if (json) terminal.document({ ok: true, paths: places, projectLayers: projectLayersOn(terminal.environment) });
  else {
    terminal.table([{ title: 'PLACE' }, { title: 'PATH', shrink: 1, least: 30, cut: 'start' }, { title: 'HERE' }, { title: 'WHAT', shrink: 2 }], places.map((place) => [bold(place.name), place.path, place.exists ? 'yes' : dim('no'), dim(place.about)]));
    if (!projectLayersOn(terminal.environment)) terminal.note(dim('Project files are not read: ZUNO_DISABLE_PROJECT_CONFIG is set'));
  }
  return EXIT_OK;
}

export const command: Command = {
  usage: ['debug paths'],
  operands: [],
  options: [],
  examples: [{ line: 'debug paths', about: 'where everything is kept and looked for:' }],
  run,
};
