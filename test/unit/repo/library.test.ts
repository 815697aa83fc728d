/** The two entries as a program of someone else sees them: every type that a signature names has a name to import, and the declarations compile without mercy. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root, sourceFiles } from '../../support/source-files.ts';
import { tempDir } from '../../support/process.ts';

const run = promisify(execFile);
const files = new Map(sourceFiles().map((file) => [file.name, file]));

/** What an entry exports: name -> file below `src/`. */
function exportsOf(entry: string): ReadonlyMap<string, string> {
  const { text } = files.get(entry)!, found = new Map<string, string>();
  for (const [, names, from] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/([^']+)\.ts';/gm)) for (const name of names!.split(',')) if (name.trim() !== '') found.set(name.trim(), from!);
  for (const [, name] of text.matchAll(/^export (?:async )?(?:interface|type|function|const|class) (\w+)/gm)) found.set(name!, entry);
  for (const [, names] of text.matchAll(/^export (?:type )?\{([^}]*)\};/gm)) for (const name of names!.split(',')) found.set(name.trim(), imported(entry).get(name.trim()) ?? entry);
  return found;
}

/** Names that a file imports, each with the file it comes from. */
function imported(name: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, names, from] of files.get(name)!.text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']+)\.ts';/gm)) {
    for (const one of names!.split(',')) found.set(one.trim().replace(/^type /, '').split(' as ').at(-1)!, path.posix.join(path.posix.dirname(name), from!));
  }
  return found;
}

/** The part of a declaration that callers see: all of a type, the head of a function. */
function signatureOf(file: string, name: string): string {
  const { code } = files.get(file)!;
  const at = new RegExp(`^(?:export )?(?:async )?(interface|type|function|const|class) ${name}\\b`, 'm').exec(code);
  if (at === null) return '';
  const rest = code.slice(at.index), end = /\n(?=\S)(?![}|)])/.exec(rest)?.index ?? rest.length;
  const text = rest.slice(0, end);
  return at[1] === 'function' ? text.split('\n').find((line) => line.includes('{')) ?? text : at[1] === 'const' ? text.split('=')[0]! : text;
}

for (const entry of ['index', 'client']) {
  test(`${entry}.ts exports every type that a signature of it names`, () => {
    const exported = exportsOf(entry), missing = new Set<string>();
    assert.ok(exported.size > 10);
    for (const [name, file] of exported) {
      const local = imported(file), own = new Set([...files.get(file)!.code.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map((match) => match[1]!));
      for (const [word] of signatureOf(file, name).matchAll(/(?<![\w.$])[A-Z]\w+(?!\w|\[')/g)) if ((local.has(word) || own.has(word)) && !exported.has(word)) missing.add(`${word} of ${local.get(word) ?? file}, named by ${name}`);
    }
    assert.deepEqual([...missing], []);
  });
}

/** A package of its own that depends on ours, as npm would lay it out; `dist` is what the last build made of `src`. */
function consumer(directory: string, options: object): void {
  const modules = path.join(directory, 'node_modules');
  mkdirSync(path.join(modules, '@types'), { recursive: true });
  symlinkSync(root.replace(/[\\/]$/, ''), path.join(modules, 'zuno-lite'), 'junction');
  for (const name of ['@types/node', 'undici-types']) if (existsSync(path.join(root, 'node_modules', name))) symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name), 'junction');
  writeFileSync(path.join(directory, 'package.json'), '{"private":true,"type":"module"}');
  writeFileSync(path.join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, target: 'ES2022', lib: ['ES2023'], module: 'nodenext', types: ['node'], noEmit: true, ...options }, include: ['*.ts', '*.mjs'] }));
}

/** Empty where everything compiles. */
async function complaints(directory: string): Promise<string> {
  return run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', directory]).then(() => '', ({ stdout }: { readonly stdout: string }) => stdout);
}

test('the declarations of dist compile in a consumer that checks them, and are the ones of src (run "npm run build" first)', async (t) => {
  const directory = tempDir(t);
  consumer(directory, { skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true });
  const named = (entry: string, from: string): string => `import type { ${[...exportsOf(entry)].filter(([name]) => name !== 'Limits').map(([name]) => `${name} as ${entry}_${name}`).join(', ')} } from '${from}';`;
  writeFileSync(path.join(directory, 'use.ts'), `
    ${named('index', 'zuno-lite')}
    ${named('client', 'zuno-lite/client')}
    import { createHost, type Host, type Step } from 'zuno-lite';
    import { connect } from 'zuno-lite/client';
    export const use = async (host: Host, step: Step): Promise<string> => {
      const result = await step.call('docs_search', { query: 'x' });
      // @ts-expect-error a step has no such method
      step.run('docs_search');
      // @ts-expect-error a host needs its options
      createHost();
      // @ts-expect-error no such kind of target
      await connect({ type: 'carrier pigeon' });
      await host.close();
      return result.outcome === 'ok' ? result.text : result.failure?.hint ?? '';
    };
  `);
  assert.equal(await complaints(directory), '');
});

// ---- docs/embedding.md and the examples

const page = readFileSync(path.join(root, 'docs/embedding.md'), 'utf8');

test('the blocks of docs/embedding.md are one program that compiles, and so do the examples', async (t) => {
  const blocks = [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  assert.ok(blocks.length > 10);
  assert.deepEqual(blocks.filter(([, language]) => language !== 'ts').map(([block]) => block), [], 'every block of it is checked');
  const program = tempDir(t), scripts = tempDir(t);
  consumer(program, { noUnusedLocals: true });
  writeFileSync(path.join(program, 'page.ts'), blocks.map(([, , code]) => code).join('\n'));
  assert.equal(await complaints(program), '');
  consumer(scripts, { allowJs: true, checkJs: true, noImplicitAny: false, strictNullChecks: false, lib: ['ES2023', 'DOM'] });
  for (const file of readdirSync(path.join(root, 'examples'))) cpSync(path.join(root, 'examples', file), path.join(scripts, file));
  assert.equal(await complaints(scripts), '');
});

test('docs/embedding.md names every option of a session, every kind of event and outcome, and only what is exported', () => {
  const types = readFileSync(path.join(root, 'src/host/types.ts'), 'utf8');
  const options = /export interface SessionOptions \{([^]*?)^\}/m.exec(types)![1]!;
  for (const [, name] of options.matchAll(/^ {2}readonly (\w+)\?/gm)) assert.ok(page.includes(`| \`${name}\` |`) || name === 'signal', `the option ${name}`);
  for (const [, kind] of /export type HostEvent =([^]*?)\n\n/.exec(types)![1]!.matchAll(/kind: '(\w+)'/g)) assert.ok(page.includes(`\`${kind}\``) || page.includes(`'${kind}'`), `the event ${kind}`);
  for (const kind of ['ok', 'tool_error', 'blocked', 'failed', 'unknown']) assert.ok(page.includes(`'${kind}'`), kind);
  for (const [, file] of page.matchAll(/\]\((\.\.\/examples\/[^)]+)\)/g)) assert.ok(existsSync(path.join(root, 'docs', file!)), file);
});
