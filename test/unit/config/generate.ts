/** Random JSONC with known values and comments, the same for the same seed. */

export interface Random { below(n: number): number; pick<T>(items: readonly T[]): T }

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return { below, pick: (items) => items[below(items.length)]! };
}

export interface Generated {
  readonly text: string;
  readonly value: Record<string, unknown>;
}

const WORDS = ['mcp', 'docs', 'fs', 'enabled', 'url', 'a b', 'ä', '__proto__', 'x"y', 'tools', 'k1', 'k2', 'k3'];

/** An object in one of many layouts; each comment carries a number of its own (`#1#`). */
export function generateJsonc(random: Random): Generated {
  const eol = random.pick(['\n', '\n', '\r\n']);
  const unit = random.pick(['  ', '    ', '\t', '']);
  const trailing = random.below(2) === 0;
  let comments = 0;
  const remark = (indent: string): string => {
    switch (random.below(8)) {
      case 0: return `/* #${++comments}# */`;
      case 1: return ` // #${++comments}# , } " {${eol}${indent}`;
      case 2: return `${eol}${indent}// #${++comments}#${eol}${indent}`;
      default: return '';
    }
  };
  const write = (depth: number, root: boolean): { readonly text: string; readonly value: unknown } => {
    const kind = root ? 0 : random.below(depth > 3 ? 4 : 7);
    if (!root && kind < 4) {
      const value = random.pick<unknown>([null, true, false, 0, -1.5, 1e21, '', 'text', 'a // b', '/* c', '"', '\\', 'ü\n', '{}']);
      return { text: JSON.stringify(value), value };
    }
    const size = random.below(4);
    const inline = random.below(4) === 0;
    const indent = unit.repeat(depth + 1);
    const isArray = kind === 6;
    const keys = new Set<string>();
    while (keys.size < size) keys.add(random.pick(WORDS));
    const object: Record<string, unknown> = {};
    const list: unknown[] = [];
    let text = isArray ? '[' : '{';
    for (const [index, key] of [...keys].entries()) {
      const item = write(depth + 1, false);
      text += inline ? ' ' : `${remark(indent)}${eol}${indent}`;
      if (isArray) list.push(item.value);
      else {
        Object.defineProperty(object, key, { value: item.value, enumerable: true, configurable: true, writable: true });
        text += `${JSON.stringify(key)}${inline ? '' : remark(indent)}:${random.pick(['', ' '])}`;
      }
      text += item.text + (inline ? '' : remark(indent)) + (index < size - 1 || trailing ? ',' : '');
      if (!inline) text += remark(indent);
    }
    if (!inline && size > 0) text += `${eol}${unit.repeat(depth)}`;
    else if (size === 0) text += remark(indent);
    return { text: `${text}${isArray ? ']' : '}'}`, value: isArray ? list : object };
  };
  const head = remark(''), root = write(0, true), tail = remark('');
  return { text: random.pick(['', '', '\ufeff']) + head + root.text + random.pick(['', eol]) + tail, value: root.value as Record<string, unknown> };
}

/** The numbers of the comments that stand in a text. */
export function commentsOf(text: string): string[] {
  return [...text.matchAll(/#\d+#/g)].map(([number]) => number).sort();
}
