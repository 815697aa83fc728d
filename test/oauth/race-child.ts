/** A program of its own that shares credentials with others: makes one call per message and says how it went. */
import { createHttp } from '../../src/http/fetch.ts';
import { createOAuth } from '../../src/oauth/oauth.ts';

const [url, storeDirectory] = process.argv.slice(2) as [string, string];
const http = createHttp({ environment: {} });
const send = createOAuth({ name: 'docs', serverUrl: url, storeDirectory, http: { environment: {} }, interaction: { mode: 'none' } }).authorize(http.request);

process.on('message', () => {
  let status = 0;
  send({
    url, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    onHead(head) { status = head.status; }, onData() {}, onEnd: () => process.send!(String(status)), onFail: (failure) => process.send!(`${failure.code} ${failure.message}`),
  });
});
process.on('disconnect', () => process.exit(0));
process.send!('ready');
