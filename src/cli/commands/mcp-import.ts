import * as path from 'node:path';
import { Failure, toFailure } from '../../base/failure.ts';
import type { AnyFailure, Origin } from '../../base/failure.ts';
import { exists } from '../../base/files.ts';
import { nearest } from '../../base/text.ts';
import type { Declaration } from '../../config/dialects.ts';
import { addServer } from '../../config/edit.ts';
import type { EditOptions, NewEntry } from '../../config/edit.ts';
import { newEntryOf } from '../../config/import-entry.ts';
import { importFiles, importSource, readImport, type ImportFile } from '../../config/import-read.ts';
import { importNames, importSources } from '../../config/imports.ts';
import type { ImportPlaces } from '../../config/imports.ts';
import { originOf } from '../../config/layers.ts';
import { maskUrl } from '../../config/mask.ts';
import type { Command, Context } from '../command.ts';
import { dryRunOption, editOptions, globalOption, literalOption, projectOption } from '../edit-report.ts';
import { commandLineOf } from '../entry-view.ts';
import { EXIT_OK, exitStatus } from '../exit.ts';
import { placeText } from '../explain.ts';
import { importPlaces } from '../places.ts';
import { usageFailure } from '../parse.ts';
import { bold, dim, green, yellow } from '../span.ts';

/** One server of the other program, and what becomes of it. */
interface Row {
  readonly name: string;
  readonly action: 'add' | 'replace' | 'exists' | 'refused';
  readonly target: string;
  readonly origin: Origin;
  readonly notes: readonly string[];
  readonly reason: string | undefined;
  readonly hint: string | undefined;
  readonly entry: NewEntry | undefined;
}

const targetOf = (entry: NewEntry): string => (entry.type === 'local' ? commandLineOf(entry.command) : maskUrl(entry.url));

/** Asks the writer what it would do: names that are taken, secrets and mistakes are its business. */
async function rowOf({ declaration, notes, from }: Found, places: ImportPlaces, options: EditOptions & { readonly replace: boolean; readonly literal: boolean }): Promise<Row> {
  const { name } = declaration;
  const origin = originOf(declaration.at);
  const taken = newEntryOf(declaration, places.home);
  const row = (action: Row['action'], failure?: AnyFailure): Row => ({
    name, action, origin, notes: [...notes, ...taken?.notes ?? []], target: taken === undefined ? '' : targetOf(taken.entry), entry: taken?.entry, reason: failure?.message, hint: failure?.hint,
  });
  if (taken === undefined) {
    const [problem] = declaration.problems;
    return { ...row('refused'), reason: problem?.message ?? `Cannot take over "${name}": it is no whole server` };
  }
  // A person who takes over what is theirs may not know that the checkout around them adds servers of its own: what it could not do
  // by itself, start a program or read a variable, it must not reach this way either.
  const power = taken.entry.type === 'local' ? 'the command comes' : /\{(?:env|file):/.test(JSON.stringify(taken.entry)) ? 'what it reads of your variables and files comes' : undefined;
  if (!from.own && from.source.own(places).length > 0 && power !== undefined) {
    return { ...row('refused'), reason: `Cannot take over "${name}": ${power} with this checkout, not from you`, hint: `Read ${from.file}, then zuno-lite mcp import ${from.source.name} --file ${from.file}` };
  }
  try {
    const edit = await addServer(name, taken.entry, { ...options, dryRun: true });
    return row(edit.change === 'none' ? 'exists' : edit.change === 'replaced' ? 'replace' : 'add');
  } catch (thrown) {
    const failure = toFailure(thrown);
    return row(failure.code === 'USAGE' && failure.origin !== undefined ? 'exists' : 'refused', failure);
  }
}

function filesOf(context: Context, name: string, places: ImportPlaces): ImportFile[] {
  const source = importSource(name);
  if (source === undefined) throw usageFailure(`Cannot import from "${name}": it is none of ${importNames.join(', ')}`, name, 'zuno-lite mcp import', nearest(name, importNames, 2));
  const file = context.parsed.value('file');
  return file === undefined ? importFiles(source, places, { project: true }) : [{ source, file: path.resolve(context.terminal.cwd, file), own: true }];
}

interface Found { readonly declaration: Declaration; readonly notes: readonly string[]; readonly from: ImportFile }

/** The entries of all files that exist; of one name the person's own. */
function declarationsOf(files: readonly ImportFile[], places: ImportPlaces, wanted: readonly string[]): Found[] {
  const found = new Map<string, Found>();
  for (const file of files) {
    const imported = readImport(file, places);
    for (const declaration of imported?.declarations ?? []) {
      const inside = (key: string): boolean => key === declaration.at.key || key.startsWith(`${declaration.at.key}.`);
      found.set(declaration.name, { declaration, from: file, notes: imported!.notices.filter(({ pointer }) => inside(pointer)).map(({ message }) => message.replace(/^Cannot take over all of the server "[^"]*": /, '')) });
    }
  }
  const missing = wanted.find((name) => !found.has(name));
  if (missing !== undefined) throw usageFailure(`Cannot import "${missing}": no file of the source has it`, missing, `there are ${[...found.keys()].join(', ') || 'none'}`, nearest(missing, found.keys(), 1));
  return [...found.values()].filter(({ declaration }) => wanted.length === 0 || wanted.includes(declaration.name));
}

function listSources({ terminal, json }: Context, places: ImportPlaces): number {
  const rows = importSources.map((source) => ({ source, files: importFiles(source, places, { project: true }).map(({ file }) => file) }));
  if (json) terminal.document({ ok: true, sources: rows.map(({ source, files }) => ({ name: source.name, title: source.title, files: files.map((file) => ({ file, exists: exists(file) })) })) });
  else {
    terminal.table([{ title: 'SOURCE' }, { title: 'OF' }, { title: 'FILES THAT ARE HERE', shrink: 1, cut: 'start' }], rows.map(({ source, files }) => [bold(source.name), source.title, files.filter(exists).join(', ')]));
    terminal.note(dim('Look first: zuno-lite mcp import SOURCE --dry-run'));
  }
  return EXIT_OK;
}

const document = (row: Row, written: boolean): object => ({ name: row.name, action: row.action, written, target: row.target, file: row.origin.file, line: row.origin.line ?? null, notes: row.notes, reason: row.reason ?? null, hint: row.hint ?? null });

function show({ terminal }: Context, rows: readonly Row[], planned: boolean): void {
  const said: Readonly<Record<Row['action'], string>> = planned ? { add: 'would add', replace: 'would replace', exists: 'is there', refused: 'refused' } : { add: 'added', replace: 'replaced', exists: 'is there', refused: 'refused' };
  terminal.table(
    [{ title: 'NAME' }, { title: 'WHAT' }, { title: 'RUNS / REACHES', shrink: 2 }, { title: 'FROM', shrink: 1, least: 24, cut: 'start' }],
    rows.map((row) => [bold(row.name), row.action === 'add' || row.action === 'replace' ? green(said[row.action]) : yellow(said[row.action]), row.target, placeText(row.origin)]),
  );
  for (const row of rows) {
    for (const note of row.notes) terminal.note(dim(`${row.name}: `), note);
    if (row.action === 'refused') { terminal.alert(yellow(`${row.name}: `), row.reason ?? ''); if (row.hint !== undefined) terminal.alert(dim('  next: '), row.hint); }
  }
  if (rows.some(({ action }) => action === 'exists')) terminal.note(dim('What is there already stays as it is; --replace overwrites it'));
}

async function run(context: Context): Promise<number> {
  const { parsed, terminal, json } = context;
  const places = importPlaces(context);
  const [name, ...wanted] = parsed.operands;
  if (name === undefined) return listSources(context, places);
  const files = filesOf(context, name, places);
  const present = files.filter(({ file }) => exists(file));
  if (present.length === 0) throw new Failure('CONFIG_UNREADABLE', `Cannot import from "${name}": none of its files is here: ${files.map(({ file }) => file).join(', ')}`, { stage: 'config', details: { file: files.at(-1)!.file }, hint: `zuno-lite mcp import ${name} --file FILE` });
  const options = { ...await editOptions(context), replace: parsed.has('replace'), literal: parsed.has('literal') };
  const rows: Row[] = [];
  for (const one of declarationsOf(present, places, wanted)) rows.push(await rowOf(one, places, options));
  const planned = parsed.has('dry-run');
  const targets = new Set<string>();
  for (const row of rows) {
    if (planned || row.entry === undefined || (row.action !== 'add' && row.action !== 'replace')) continue;
    const edit = await addServer(row.name, row.entry, options);
    targets.add(`${edit.file} (${edit.layer})`);
  }
  if (json) terminal.document({ ok: true, source: name, dryRun: planned, read: present.map(({ file }) => file), servers: rows.map((row) => document(row, !planned && (row.action === 'add' || row.action === 'replace'))) });
  else if (rows.length === 0) terminal.print(`No servers in ${present.map(({ file }) => file).join(', ')}`);
  else {
    show(context, rows, planned);
    for (const target of targets) terminal.note(dim(`Written to ${target}`));
  }
  // A script must notice what was left behind.
  return !planned && rows.some(({ action }) => action === 'refused') ? exitStatus.USAGE : EXIT_OK;
}

export const command: Command = {
  usage: ['mcp import', 'mcp import SOURCE [NAME]... [--dry-run] [--file FILE]'],
  operands: ['[SOURCE]', '[NAME]...'],
  options: [
    { name: 'file', value: 'FILE', summary: 'read this file instead of those where the other program keeps its own' },
    { name: 'replace', summary: 'overwrite servers of the same name' },
    literalOption, projectOption, globalOption, dryRunOption,
  ],
  examples: [
    { line: 'mcp import', about: 'which programs can be imported from, and which of their files are here:' },
    { line: 'mcp import cursor --dry-run', about: 'what would be taken over, and what cannot be:' },
    { line: 'mcp import claude docs files', about: 'two servers of Claude Code:' },
    { line: 'mcp import mcp-json --file ./other/.mcp.json', about: 'any file of that form:' },
  ],
  notes: [
    `Sources: ${importNames.join(', ')}.`,
    'The other file is only read. References to variables are kept as {env:NAME}; a literal secret is refused unless --literal is given.',
    '"imports": ["cursor"] in your zuno.json reads them live instead, below your own entries; files of a checkout stay untrusted.',
  ],
  run,
};
