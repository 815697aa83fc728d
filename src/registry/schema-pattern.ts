/**
 * Regular expressions of schemas. They come from servers and the engine backtracks, so each gets a longest string that it is tried on:
 * as long as its worst case stays within `limits.patternSteps`. Longer strings are not judged here.
 */
import { limits } from '../base/limits.ts';

/** `undefined`: trying this pattern on this text could take too long. */
export type PatternTest = (text: string) => boolean | undefined;

const NESTED_CHARS = 20;

interface Group { choices: number; variable: boolean }

/**
 * The longest text in characters on which a backtracking engine stays within the steps: n^d for d repetitions that can trade
 * characters with each other, times the choices of everything optional; next to nothing where a repetition holds another one.
 */
export function longestText(source: string): number {
  const groups: Group[] = [{ choices: 1, variable: false }];
  let degree = 0, constant = 1, nested = false, closed: Group | undefined;
  for (let at = 0; at < source.length; at++) {
    const char = source[at]!, group = groups.at(-1)!;
    const quantifier = quantifierAt(source, at);
    if (quantifier !== undefined) {
      const { min, max, length } = quantifier;
      if (closed?.variable === true && max > 1) nested = true;
      if (max > 1000) degree += 1; else constant *= max - min + 1;
      if (min !== max) group.variable = true;
      at += length - 1;
      closed = undefined;
      continue;
    }
    closed = undefined;
    if (char === '\\') at += 1;
    else if (char === '[') at = classEnd(source, at);
    else if (char === '(') groups.push({ choices: 1, variable: false });
    else if (char === '|') { group.choices += 1; group.variable = true; }
    else if (char === ')' && groups.length > 1) {
      closed = groups.pop()!;
      constant *= closed.choices;
      if (closed.variable) groups.at(-1)!.variable = true;
    }
  }
  if (nested) return NESTED_CHARS;
  if (!source.startsWith('^') || groups[0]!.choices > 1) degree += 1;
  const steps = limits.patternSteps / (constant * groups[0]!.choices);
  if (steps < 1) return 0;
  return degree === 0 ? Infinity : Math.floor(steps ** (1 / degree));
}

function quantifierAt(source: string, at: number): { min: number; max: number; length: number } | undefined {
  const lazy = (end: number): number => (source[end] === '?' ? end + 1 : end) - at;
  switch (source[at]) {
    // Behind an opening parenthesis the question mark belongs to the group: (?:, (?=, (?<name>
    case '?': return source[at - 1] === '(' && source[at - 2] !== '\\' ? undefined : { min: 0, max: 1, length: lazy(at + 1) };
    case '*': return { min: 0, max: Infinity, length: lazy(at + 1) };
    case '+': return { min: 1, max: Infinity, length: lazy(at + 1) };
    case '{': {
      const counted = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(source.slice(at, at + 24));
      if (counted === null) return undefined;
      const min = Number(counted[1]), max = counted[2] === undefined ? min : counted[3] === '' ? Infinity : Number(counted[3]);
      return { min, max, length: lazy(at + counted[0].length) };
    }
    default: return undefined;
  }
}

function classEnd(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source[at] !== ']') at += source[at] === '\\' ? 2 : 1;
  return at;
}

/** Unicode rules first (JSON Schema 2020-12 core 6.4), the older ones for patterns that only they accept; `undefined` when neither does. */
export function compilePattern(source: string): PatternTest | undefined {
  const expression = tryCompile(source, 'u') ?? tryCompile(source, '');
  if (expression === undefined) return undefined;
  const longest = longestText(source);
  return (text) => (text.length > longest ? undefined : expression.test(text));
}

function tryCompile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
