import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitStatus } from '../../../src/cli/exit.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('ARCHITECTURE lists exactly the files of each folder', () => {
  const rows = new Map([...read('ARCHITECTURE.md').matchAll(/^\| ([a-z/]+) \| [^|]+ \| ([a-z0-9, -]+) \|$/gm)].filter((row) => row[1] !== 'folder').map((row) => [row[1]!, row[2]!.split(', ')]));
  const folders = readdirSync(path.join(root, 'src'), { withFileTypes: true, recursive: true }).filter((entry) => entry.isDirectory()).map((entry) => path.relative(path.join(root, 'src'), path.join(entry.parentPath ?? (entry as unknown as { path: string }).path, entry.name)));
  assert.deepEqual([...rows.keys()].sort(), folders.sort());
  for (const folder of folders) {
    const files = readdirSync(path.join(root, 'src', folder)).filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -3)).sort();
    assert.deepEqual([...rows.get(folder)!].sort(), files, folder);
  }
});

test('README opens with the two commands, and every exit status of the code is in its table', () => {
  const text = read('README.md');
  assert.match(text, /```sh\nnpm ci && npx zuno-lite demo\nnpm ci && npm test\n```/);
  assert.ok(text.indexOf('npm ci && npx zuno-lite demo') < text.indexOf('## '));
  const told = new Set([...text.matchAll(/^\| ([\d /]+) \|/gm)].flatMap((row) => row[1]!.split('/').map((status) => Number(status.trim()))));
  for (const [code, status] of Object.entries(exitStatus)) assert.ok(told.has(status), `${code} ends with ${status}, which the README does not explain`);
});

test('every link between the documents leads somewhere', () => {
  const documents = ['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...readdirSync(path.join(root, 'docs')).map((file) => `docs/${file}`)];
  for (const document of documents) {
    for (const [, target] of read(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      assert.ok(existsSync(path.join(root, path.dirname(document), target!)), `${document} links to ${target}`);
    }
  }
});
