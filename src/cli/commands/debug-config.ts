import { readConfig } from '../../config/load.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { explainConfig, mergedDocument, type ShownValue } from '../../config/inspect.ts';
import type { LoadedLayer } from '../../config/types.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK } from '../exit.ts';
import { placeText } from '../explain.ts';
import { pathsOf } from '../open.ts';
import { bold, dim, green, red, yellow } from '../span.ts';

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Whether a layer may do everything: by what it is, or because a trusted one admits it. */
function standing({ trust, layers }: LoadedConfig, state: LoadedLayer): 'trusted' | 'admitted' | 'changed' | 'untrusted' {
  if (state.trusted) return 'trusted';
  const layer = layers.find(({ source }) => source === state.source);
  return layer === undefined ? 'untrusted' : trust.admitted(layer) ? 'admitted' : trust.outdated(layer) ? 'changed' : 'untrusted';
}

function showLayers({ terminal }: Context, loaded: LoadedConfig, all: boolean): void {
  const shown = loaded.config.layers.filter(({ state }) => all || state === 'loaded');
  terminal.print(bold('Layers'), dim(`  low to high${all ? '' : '; --all shows absent ones too'}`));
  terminal.table(
    [{ title: 'LAYER' }, { title: 'TRUST' }, { title: 'STATE' }, { title: 'FILE', shrink: 1, cut: 'start' }],
    shown.map((state) => {
      const how = standing(loaded, state);
      return [state.kind, how === 'trusted' ? how : how === 'admitted' ? green(how) : yellow(how), state.state === 'absent' ? dim('absent') : 'loaded', state.source];
    }), { indent: 2 });
}

function showValues({ terminal }: Context, values: readonly ShownValue[]): void {
  const rows = values.flatMap((value) => [
    [bold(value.key), valueText(value.value), placeText(value.origin)],
    ...value.shadowed.map((below) => [dim('  over'), dim(valueText(below.value)), dim(placeText(below.origin))]),
  ]);
  terminal.table([{ title: 'KEY' }, { title: 'VALUE', shrink: 1, least: 16 }, { title: 'FROM', shrink: 2, least: 28, cut: 'start' }], rows, { indent: 2 });
}

async function run(context: Context): Promise<number> {
  const { terminal, parsed, json } = context;
  // Remarks stand in the answer itself, not beside it.
  const loaded = readConfig({ cwd: terminal.cwd, environment: terminal.environment, paths: pathsOf(context), configFile: parsed.value('config') });
  const { config } = loaded;
  const values = explainConfig(loaded);
  if (json) {
    terminal.document({
      ok: true, config: mergedDocument(values), values: values.map(({ path: _path, ...value }) => value),
      layers: config.layers.map((layer) => ({ layer: layer.kind, file: layer.source, trusted: layer.trusted, standing: standing(loaded, layer), state: layer.state })),
      lost: lostServers(loaded), diagnostics: config.diagnostics, admissions: config.admissions,
    });
    return EXIT_OK;
  }
  showLayers(context, loaded, parsed.has('all'));
  terminal.print('');
  terminal.print(bold('Values'), dim('  secrets masked; "over" is what a lower layer said'));
  if (values.length === 0) terminal.print(dim('  nothing is set'));
  else showValues(context, values);
  const troubles = config.diagnostics;
  if (troubles.length > 0) {
    terminal.print('');
    terminal.print(bold('Remarks'));
    for (const { severity, message, origin } of troubles) terminal.print('  ', severity === 'error' ? red('error: ') : yellow('warning: '), message, dim(`  ${placeText(origin)}`));
  }
  if (!config.mcpEnabled) terminal.note(dim('MCP is off: "features": {"mcp": false}'));
  return EXIT_OK;
}

const lostServers = ({ config, drafts }: LoadedConfig): string[] => [...drafts.keys()].filter((name) => !config.servers.has(name));

export const command: Command = {
  usage: ['debug config [--all]'],
  operands: [],
  options: [{ name: 'all', summary: 'also the places where no file is' }],
  examples: [{ line: 'debug config', about: 'the merged configuration: each value with its file, layer and line, and what it stands over:' }],
  notes: ['Values of headers, variables and sign-in settings are masked; references such as {env:NAME} are shown, their values never.'],
  run,
};
