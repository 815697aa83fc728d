import type { Command } from '../command.ts'; export const command: Command = { usage: ['mcp add'], operands: [], options: [], examples: [{ line: 'x', about: 'x' }], run: () => Promise.resolve(0) };
