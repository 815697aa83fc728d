/** The program as text, for tests that read `src/`: its files, their imports, and their code without comments and literals. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Import { readonly from: string; readonly typeOnly: boolean; readonly dynamic: boolean }
export interface SourceFile {
  /** Path below `src/`, with slashes and without `.ts`: `base/files`. */
  readonly name: string;
  readonly text: string;
  /** The text with comments, regular expressions and the insides of strings blanked. */
  readonly code: string;
  readonly imports: readonly Import[];
}

/** Every file below a folder of the checkout, as paths with slashes; installed and generated things left out. */
export function filesBelow(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    if (['node_modules', 'dist', 'coverage', '.git'].includes(entry.name)) continue;
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) found.push(...filesBelow(name)); else if (entry.isFile()) found.push(name);
  }
  return found.sort();
}

export function sourceFiles(): SourceFile[] {
  return filesBelow('src').filter((file) => file.endsWith('.ts')).map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    return { name: file.slice('src/'.length, -'.ts'.length), text, code: blankLiterals(text), imports: importsOf(text) };
  });
}

/** The file that a relative import names, below `src/` and without `.ts`; anything else as it stands. */
export function targetOf(file: SourceFile, { from }: Import): string {
  return from.startsWith('.') ? path.posix.join(path.posix.dirname(file.name), from).replace(/\.ts$/, '') : from;
}

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  const code = blankComments(text);
  for (const match of code.matchAll(/^(?:import|export)\s+(type\s+)?(?:[\w*${},\s]*?\sfrom\s+)?(['"])([^'"\n]+)\2/gm)) {
    // `import { type A, type B }` brings no code either.
    const names = /\{([^}]*)\}/.exec(match[0])?.[1];
    const onlyTypes = names !== undefined && !/^import\s+\w/.test(match[0]) && names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
    found.push({ from: match[3]!, typeOnly: match[1] !== undefined || onlyTypes, dynamic: false });
  }
  for (const match of code.matchAll(/\bimport\(\s*(['"])([^'"\n]+)\1\s*\)/g)) found.push({ from: match[2]!, typeOnly: false, dynamic: true });
  return found;
}

const blankComments = (text: string): string => blank(text, false);
const blankLiterals = (text: string): string => blank(text, true);

/** A small reader of TypeScript's tokens: enough to know a comment from a string from a regular expression. */
function blank(text: string, literals: boolean): string {
  let out = '', i = 0;
  // One entry per template that is open: how many braces are open inside its `${`.
  const templates: number[] = [];
  const keep = (to: number): void => { out += text.slice(i, to); i = to; };
  const drop = (to: number): void => { out += text.slice(i, to).replace(/[^\n]/g, ' '); i = to; };
  const literal = (to: number): void => { if (literals) drop(to); else keep(to); };
  const templatePart = (): void => {
    let end = i;
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1;
    literal(end);
    if (text[i] === '`') { keep(i + 1); return; }
    templates.push(0);
    keep(i + 2);
  };
  while (i < text.length) {
    const two = text.slice(i, i + 2), char = text[i]!;
    if (two === '//') drop(endOf(text.indexOf('\n', i), text));
    else if (two === '/*') drop(endOf(text.indexOf('*/', i + 2), text, 2));
    else if (char === '"' || char === "'") {
      let end = i + 1;
      while (end < text.length && text[end] !== char) end += text[end] === '\\' ? 2 : 1;
      keep(i + 1);
      literal(end);
      keep(i + 1);
    } else if (char === '`') { keep(i + 1); templatePart(); }
    else if (char === '/' && /(?:^|[=(,:;[!&|?{}+\n]|=>|\breturn|\bcase|\btypeof)\s*$/.test(out.slice(-40))) {
      let end = i + 1, inClass = false;
      while (end < text.length && (inClass || text[end] !== '/') && text[end] !== '\n') {
        if (text[end] === '[') inClass = true; else if (text[end] === ']') inClass = false;
        end += text[end] === '\\' ? 2 : 1;
      }
      keep(i + 1);
      literal(end);
      keep(i + 1);
    } else if (char === '{' && templates.length > 0) { templates[templates.length - 1]! += 1; keep(i + 1); }
    else if (char === '}' && templates.length > 0) {
      if (templates.at(-1) === 0) { templates.pop(); keep(i + 1); templatePart(); } else { templates[templates.length - 1]! -= 1; keep(i + 1); }
    } else keep(i + 1);
  }
  return out;
}

function endOf(found: number, text: string, length = 0): number {
  return found < 0 ? text.length : found + length;
}
