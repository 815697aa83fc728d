import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleHistory, historyWarning } from '../../../src/registry/history.ts';
import type { PastCall } from '../../../src/registry/history.ts';
import { offered } from '../../../src/registry/native-tools.ts';
import { entry } from './entries.ts';

const find = offered(entry('docs', 'find', { description: 'Finds' })), changed = offered(entry('docs', 'find', { description: 'Finds more' }));
const call = (callId: string, id = 'docs_find', more: Partial<PastCall> = {}): PastCall => ({ callId, id, args: { q: 1 }, text: 'found', ...more });
const recorded = (callId: string): string | undefined => (callId.startsWith('known') ? find.schemaId : undefined);

test('assembleHistory() keeps calls whose declaration still stands', () => {
  const calls = [call('known1'), call('known2', 'docs_find', { isError: true })];
  assert.deepEqual(assembleHistory(calls, recorded, [find]), calls.map((one) => ({ kind: 'call', call: one })));
  assert.equal(historyWarning(assembleHistory(calls, recorded, [find])), undefined);
});

test('assembleHistory() makes inert JSON of calls whose declaration is gone, changed or unknown (row 156)', () => {
  const gone = call('known3', 'docs_old'), items = assembleHistory([call('known1'), gone, call('other'), call('known2', 'docs_find', { isError: true, args: undefined })], recorded, [changed]);
  assert.deepEqual(items.map((item) => (item.kind === 'text' ? [item.callId, item.why] : item)), [
    ['known1', 'the declaration of "docs_find" has changed since'],
    ['known3', '"docs_old" is not shown any more'],
    ['other', 'it is not known under which declaration of "docs_find" it was made'],
    ['known2', 'the declaration of "docs_find" has changed since'],
  ]);
  const texts = items.map((item) => (item.kind === 'text' ? JSON.parse(item.text) as unknown : undefined));
  assert.deepEqual(texts[1], { transcript: 'earlier tool call', tool: 'docs_old', callId: 'known3', arguments: { q: 1 }, isError: false, result: 'found', why: '"docs_old" is not shown any more' });
  assert.deepEqual(texts[3], { transcript: 'earlier tool call', tool: 'docs_find', callId: 'known2', arguments: {}, isError: true, result: 'found', why: 'the declaration of "docs_find" has changed since' });
  assert.equal(historyWarning(items), '4 earlier calls became text: the declaration of "docs_find" has changed since; "docs_old" is not shown any more; it is not known under which declaration of "docs_find" it was made');
  assert.deepEqual(gone, call('known3', 'docs_old'));
});
