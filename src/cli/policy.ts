/** What the command line says about the policy of one run: rules on top, an agent, the lock file. */
import type { Rule } from '../config/types.ts';
import type { OptionRow, Parsed } from './command.ts';
import type { Household } from './open.ts';

export const policyOptions: readonly OptionRow[] = [
  { name: 'allow', value: 'PATTERN', repeat: true, summary: 'allows tools by name or pattern for this run; deny rules hold' },
  { name: 'deny', value: 'PATTERN', repeat: true, summary: 'hides and refuses tools by name or pattern for this run' },
  { name: 'disallowed-tools', value: 'PATTERNS', repeat: true, summary: 'the same in the spelling of other clients; several with commas between' },
  { name: 'agent', value: 'NAME', summary: 'with the tools and rules of this agent' },
  { name: 'locked', summary: 'only tools that are as zuno.lock.json has them ("mcp lock" writes it)' },
];

export const yesOption: OptionRow = { name: 'yes', short: 'y', summary: 'answers every question of the policy with yes; deny rules hold' };

const ruleOf = (option: string, effect: Rule['effect']) => (key: string): Rule => ({ key, pattern: '*', effect, origin: { file: `--${option}`, layer: 'arguments' } });

/** The rules of `--allow`, `--deny` and `--disallowed-tools`. They settle an ask and never loosen the configuration; a deny among them beats an allow, whatever their order. */
export function runRules(parsed: Parsed): Rule[] {
  const disallowed = parsed.all('disallowed-tools').flatMap((value) => value.split(',').map((one) => one.trim()).filter((one) => one !== ''));
  return [...parsed.all('allow').map(ruleOf('allow', 'allow')), ...parsed.all('deny').map(ruleOf('deny', 'deny')), ...disallowed.map(ruleOf('disallowed-tools', 'deny'))];
}

/** The same as a household takes it. */
export function policyOf(parsed: Parsed): Pick<Household, 'rules' | 'assumeYes' | 'agent' | 'locked'> {
  return { rules: runRules(parsed), assumeYes: parsed.has('yes'), agent: parsed.value('agent'), ...(parsed.has('locked') ? { locked: true } : {}) };
}
