import * as os from 'node:os';
import * as path from 'node:path';
import { remove } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Paths } from '../../base/paths.ts';
import { emptyConfig } from '../../config/defaults.ts';
import type { Config, Effect, Rule, Template } from '../../config/types.ts';
import type { Host, OpenServer } from '../../host/types.ts';
import type { JsonObject } from '../../base/json.ts';
import { signature } from '../../registry/input-schema.ts';
import type { Approval, ApprovalAnswer, Outcome, ToolEntry } from '../../registry/types.ts';
import { nativeProcessSystem } from '../../transports/process-table.ts';
import { personAt, shownArguments } from '../ask.ts';
import type { Command, Context } from '../command.ts';
import { commandLineOf } from '../entry-view.ts';
import { EXIT_OK } from '../exit.ts';
import { explain, failureDocument } from '../explain.ts';
import { withHost } from '../open.ts';
import { showProgress } from '../progress.ts';
import { showResult } from '../render.ts';
import { bold, cyan, dim, green } from '../span.ts';
import type { Span } from '../span.ts';
import type { Terminal } from '../terminal.ts';

const ORIGIN = { file: "the demo's own rules", layer: 'built-in' } as const;
const INDENT = '   ';
const RULES: Readonly<Record<string, Effect>> = { demo_add: 'allow', demo_count: 'allow', demo_picture: 'allow', demo_note: 'ask', demo_erase: 'deny' };

const literal = (text: string): Template => ({ parts: [text], source: text });

/** A configuration made here: nothing of the user's is read, nothing is kept. */
function demoConfig(workspace: string, server: string): Config {
  const rules = Object.entries(RULES).map(([key, effect]): Rule => ({ key, pattern: '*', effect, origin: { ...ORIGIN, key: `permission.rules.${key}` } }));
  return {
    ...emptyConfig, servers: new Map([['demo', {
      kind: 'local', name: 'demo', origin: { ...ORIGIN, key: 'mcp.demo' }, enabled: true, protocol: 'auto', shadowed: [], command: literal(process.execPath), args: [literal(server)], cwd: workspace, environment: {},
      timeouts: { requestMs: limits.requestMsLong, connectMs: limits.connectMs },
    }]]),
    permissions: { mode: 'standard', rules }, workspace,
  };
}

/** Tells each step as it happens, or keeps the facts for the one document of `--json`. */
interface Teller {
  step(name: string, sentence: string, facts?: object): void;
  readonly steps: readonly object[];
}

/** The same terminal, three columns to the right: what a step brought stands under its sentence. */
function indented(terminal: Terminal): Terminal {
  const shift = (span: Span): Span => (typeof span === 'string' ? span.replaceAll('\n', `\n${INDENT}`) : { ...span, text: span.text.replaceAll('\n', `\n${INDENT}`) });
  return { ...terminal, print: (...line) => terminal.print(INDENT, ...line.map(shift)) };
}

function createTeller({ terminal, json }: Context): Teller {
  const steps: object[] = [];
  return {
    steps,
    step(name, sentence, facts = {}) {
      steps.push({ step: name, explanation: sentence, ...facts });
      if (!json) terminal.print(cyan(`${steps.length}. `), bold(sentence));
    },
  };
}

const outcomeDocument = (outcome: Outcome): object => ('failure' in outcome ? { outcome: outcome.kind, error: failureDocument(outcome.failure) } : { outcome: outcome.kind, result: outcome.result });

interface Scene { readonly context: Context; readonly host: Host; readonly teller: Teller; readonly entries: readonly ToolEntry[] }

async function play({ context, host, teller, entries }: Scene, tool: string, args: JsonObject, sentence: string): Promise<void> {
  const { json, signal } = context;
  const terminal = indented(context.terminal);
  const entry = entries.find((one) => one.tool === tool)!;
  const command = ['zuno-lite', 'call', entry.id, ...Object.entries(args).map(([key, value]) => `${key}=${String(value)}`)];
  const facts: Record<string, unknown> = { command: commandLineOf(command) };
  teller.step(tool, sentence, facts);
  if (!json) terminal.print(dim('$ '), commandLineOf(command));
  const progress = showProgress(terminal, entry.id);
  let steps = 0;
  const outcome = await host.call(entry, args, { signal, onProgress: (step) => { steps += 1; progress.update(step); } }).finally(() => progress.end());
  Object.assign(facts, { progressNotices: steps }, outcomeDocument(outcome));
  // Written into the step that was told before the call, so that the order of telling is the order of happening.
  Object.assign(teller.steps.at(-1)!, facts);
  if (signal.aborted && 'failure' in outcome) throw outcome.failure;
  if (json) return;
  if ('failure' in outcome) for (const line of explain(outcome.failure)) terminal.print(...line);
  else showResult(terminal, outcome.result);
  if (steps > 0) terminal.print(dim(`(${steps} progress notices on the way; on a terminal they are one live line)`));
}

/** Whoever is there answers; with nobody there the demo shows the question and answers it itself. */
function demoPerson(context: Context): { approve(approval: Approval): Promise<ApprovalAnswer> } {
  const { json, signal } = context;
  const terminal = indented(context.terminal);
  const person = json ? {} : personAt(context.terminal, signal);
  if (person.approve !== undefined) return { approve: person.approve };
  return {
    approve: ({ entry, args, decision }) => {
      if (!json) {
        terminal.print(dim('would ask: '), `may "${entry.id}" be called? `, dim(decision.why));
        for (const line of shownArguments(args)) terminal.print('  ', line);
        terminal.print(dim('nobody is at the keyboard, so the demo answers "once" by itself'));
      }
      return Promise.resolve('once');
    },
  };
}

function showServer({ context, teller }: Pick<Scene, 'context' | 'teller'>, { client, process: child }: OpenServer): void {
  const facts = { command: child === undefined ? null : commandLineOf([child.command, ...child.args]), pid: child?.pid ?? null, era: client.era, protocolVersion: client.revision };
  teller.step('start', 'A server is a program on your machine: it is started as a child process and asked what it speaks.', facts);
  if (!context.json) context.terminal.print(INDENT, `pid ${facts.pid}, protocol ${facts.protocolVersion} (${facts.era})`);
}

function showTools({ context, host, teller, entries }: Scene): void {
  const facts = { tools: entries.map((entry) => ({ id: entry.id, signature: signature({ ...entry.definition, name: entry.tool }, entry.id), effect: host.decide(entry).effect })) };
  teller.step('tools', 'Its tools, each with what the policy says of it: allow, ask or deny.', facts);
  if (!context.json) context.terminal.table([{ title: 'TOOL', shrink: 1 }, { title: 'MAY' }], facts.tools.map((tool) => [tool.signature, tool.effect]), { indent: INDENT.length });
}

function isGone(pid: number): boolean {
  try {
    nativeProcessSystem().kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

async function cleanUp({ context, host, teller }: Scene, opened: OpenServer): Promise<void> {
  const pid = opened.process?.pid;
  const { forced } = await host.close();
  const gone = pid === undefined || isGone(pid);
  teller.step('clean-up', 'The server is ended with all it started; nothing is left running.', { pid: pid ?? null, gone, forced });
  if (!context.json) context.terminal.print(INDENT, gone ? green(`pid ${pid} is gone`) : `pid ${pid} is still there`, forced.length === 0 ? '' : dim(` (${forced.join(', ')})`));
}

async function walk(context: Context, host: Host): Promise<number> {
  const { terminal, signal, json } = context;
  const teller = createTeller(context);
  const opened = await host.open('demo', signal);
  showServer({ context, teller }, opened);
  const { entries, failures } = await host.listTools(['demo'], signal);
  if (failures[0] !== undefined) throw failures[0].failure;
  const scene: Scene = { context, host, teller, entries };
  showTools(scene);
  await play(scene, 'add', { a: 2, b: 3 }, 'An allowed call: a rule says yes, nobody is asked. The words become numbers because the schema says so.');
  await play(scene, 'note', { text: 'hello' }, 'A call that the policy asks about: a person decides, with the arguments in sight.');
  await play(scene, 'erase', {}, 'A denied call: a rule says no, and the server never hears of it. Five facts tell what to do next.');
  await play(scene, 'count', { to: 5 }, 'A long call that reports its progress.');
  await play(scene, 'picture', { size: 32 }, 'A result that is no text: told in one line, saved with --output DIR.');
  await cleanUp(scene, opened);
  if (json) terminal.document({ ok: true, steps: teller.steps });
  else terminal.print(dim('Your turn: '), 'zuno-lite mcp add NAME -- COMMAND ARGS...', dim(', then '), 'zuno-lite tools');
  return EXIT_OK;
}

async function run(context: Context): Promise<number> {
  const scratch = path.join(os.tmpdir(), `zuno-lite-demo-${process.pid}`);
  const paths: Paths = { home: scratch, config: scratch, data: scratch, cache: scratch, state: scratch, managed: scratch };
  try {
    return await withHost(context, { config: demoConfig(context.terminal.cwd, path.join(context.packageDirectory, 'demo', 'server.mjs')), person: demoPerson(context), paths }, (host) => walk(context, host));
  } finally {
    remove(scratch);
  }
}

export const command: Command = {
  usage: ['demo'],
  operands: [],
  options: [],
  examples: [{ line: 'demo', about: 'starts a small server and walks through listing, calling, asking, refusing and cleaning up:' }],
  notes: ['Needs no configuration and reads none; the server comes with this program and touches nothing on your machine.'],
  run,
};
