import * as path from 'node:path';
import { isFailure } from '../../base/failure.ts';
import { readConfig } from '../../config/load.ts';
import { pinFile, reviewFile, type Review } from '../../config/admit.ts';
import type { Command, Context } from '../command.ts';
import { commandLineOf } from '../entry-view.ts';
import { EXIT_OK } from '../exit.ts';
import { importPlaces } from '../places.ts';
import { pathsOf } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { bold, dim, green, yellow } from '../span.ts';

function show({ terminal }: Context, { pin, servers, loosens }: Review): void {
  terminal.alert(bold(pin.path));
  terminal.alert(dim('  sha256     '), pin.sha256);
  for (const server of servers) {
    if (server.runs !== undefined) terminal.alert(yellow('  would run  '), bold(commandLineOf(server.runs)), dim(`  (${server.name})`));
    if (server.reaches !== undefined) terminal.alert(dim('  reaches    '), server.reaches, dim(`  (${server.name})`));
    if (server.cwd !== undefined) terminal.alert(dim('    in       '), server.cwd);
    if (server.sets.length > 0) terminal.alert(dim('    sets     '), server.sets.join(', '));
    if (server.reads.length > 0) terminal.alert(yellow('    reads    '), server.reads.join(', '));
  }
  if (servers.length === 0) terminal.alert(dim('  It declares no server'));
  if (loosens.length > 0) terminal.alert(yellow('  decides    '), `${loosens.join(', ')} (an admitted file may also loosen them)`);
}

/** Whether the file is admitted now, as loading sees it: a layer above the global file may say otherwise. */
function standing(context: Context, file: string): string | undefined {
  const { terminal } = context;
  try {
    const { layers, trust } = readConfig({ cwd: path.dirname(file), environment: terminal.environment, paths: pathsOf(context) });
    const layer = layers.find(({ source }) => source === file);
    return layer === undefined || trust.admitted(layer) ? undefined : `${trust.grant?.origin.file ?? 'another layer'} decides about trust and does not admit it`;
  } catch (error) {
    return isFailure(error) && error.code === 'TRUST_REFUSED' && error.details.file === file ? error.message : undefined;
  }
}

async function run(context: Context): Promise<number> {
  const { parsed, terminal, json } = context;
  const file = path.resolve(terminal.cwd, parsed.operands[0]!);
  const review = reviewFile(file, importPlaces(context, path.dirname(file)));
  show(context, review);
  if (!parsed.has('yes')) {
    if (!terminal.interactive) throw usageFailure('Cannot admit the file: nobody is here to answer', undefined, 'Read what it would do, then repeat with --yes');
    const answer = (await terminal.question(['Admit exactly this content? [y]es [N]o: '], context.signal))?.trim().toLowerCase();
    if (answer !== 'y' && answer !== 'yes') {
      if (json) terminal.document({ ok: true, admitted: false, file: review.pin.path, sha256: review.pin.sha256 });
      else terminal.print('Nothing was admitted');
      return EXIT_OK;
    }
  }
  const pinned = await pinFile(review.pin, pathsOf(context));
  const refused = standing(context, review.pin.path);
  if (json) terminal.document({ ok: true, admitted: refused === undefined, ...review.pin, change: pinned.change, written: pinned.file, servers: review.servers, warning: refused ?? null });
  else {
    terminal.print(pinned.change === 'none' ? pinned.why ?? 'Nothing to change' : green(pinned.change === 'added' ? 'Admitted' : 'Admitted again'), pinned.change === 'none' ? '' : `: ${review.pin.path} as it is now, in ${pinned.file}`);
    terminal.note(dim('Another byte in it, and it is refused until you admit it again'));
  }
  if (refused !== undefined) terminal.alert(yellow('warning: '), refused);
  return EXIT_OK;
}

export const command: Command = {
  usage: ['trust FILE [--yes]'],
  operands: ['FILE'],
  options: [{ name: 'yes', short: 'y', summary: 'do not ask (for scripts; what it would do is shown all the same)' }],
  examples: [{ line: 'trust zuno.json', about: 'shows what the project file would run, asks, and admits exactly this content:' }],
  notes: [
    'The digest goes into "trust": {"project_host_commands": [...]} of your global zuno.json. A later edit of the file is refused until it is admitted again.',
    'A directory in the same list admits whatever its files say, now and later.',
  ],
  run,
};
