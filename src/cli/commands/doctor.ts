import { checkup, type Finding } from '../checkup.ts';
import type { Command, Context } from '../command.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { placeText } from '../explain.ts';
import { pathsOf } from '../open.ts';
import { bold, dim, green, red, yellow } from '../span.ts';
import type { Span } from '../span.ts';
import { count } from '../../base/text.ts';

const signs: Readonly<Record<Finding['level'], Span>> = { ok: green('ok       '), note: dim('note     '), warning: yellow('warning  '), error: red('error    ') };
const order: readonly Finding['level'][] = ['error', 'warning', 'note', 'ok'];

function show({ terminal }: Context, findings: readonly Finding[]): void {
  for (const check of new Set(findings.map((finding) => finding.check))) {
    terminal.print(bold(check));
    const own = findings.filter((finding) => finding.check === check).sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
    for (const { level, message, fix, origin } of own) {
      terminal.print('  ', signs[level], message, origin === undefined ? '' : dim(`  ${placeText(origin)}`));
      if (fix !== undefined) terminal.print(dim('           fix: '), fix);
    }
  }
}

async function run(context: Context): Promise<number> {
  const { terminal, parsed, json } = context;
  const findings = checkup({
    cwd: terminal.cwd, environment: terminal.environment, paths: pathsOf(context), configFile: parsed.value('config'),
    platform: process.platform, execPath: process.execPath, nodeVersion: process.version,
  });
  const errors = findings.filter(({ level }) => level === 'error').length, warnings = findings.filter(({ level }) => level === 'warning').length;
  if (json) terminal.document({ ok: true, healthy: errors === 0, errors, warnings, findings: findings.map(({ fix, origin, ...rest }) => ({ ...rest, fix: fix ?? null, origin: origin ?? null })) });
  else {
    show(context, findings);
    terminal.print('');
    terminal.print(errors > 0 ? red(`${count(errors, 'error')}, ${count(warnings, 'warning')}`) : warnings > 0 ? yellow(count(warnings, 'warning')) : green('Nothing is wrong'));
  }
  return errors > 0 ? exitStatus.CONFIG_INVALID : EXIT_OK;
}

export const command: Command = {
  usage: ['doctor'],
  operands: [],
  options: [],
  examples: [{ line: 'doctor', about: 'configuration, trust, commands, variables, network, Node, stores and left-over processes, each with its fix:' }],
  notes: ['Nothing is started, reached or changed; "mcp list" probes the servers themselves. The exit status is 3 when there is an error.'],
  run,
};
