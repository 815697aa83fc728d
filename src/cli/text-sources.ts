/** Where arguments take text from that is not on the command line: `@file` and `-`. */
import * as path from 'node:path';
import { limits } from '../base/limits.ts';
import type { TextSources } from './arguments.ts';
import { usageFailure } from './parse.ts';
import type { Terminal } from './terminal.ts';

export function textSources(terminal: Terminal): TextSources {
  return {
    async readFile(name) {
      const { readText } = await import('../base/files.ts');
      const text = readText(path.resolve(terminal.cwd, name), limits.frameBytes);
      if (text === undefined) throw usageFailure(`Cannot read "${name}": there is no such file`, `@${name}`, 'key=@@text is the text itself, with one @');
      return text;
    },
    readInput: () => terminal.readInput(),
  };
}
