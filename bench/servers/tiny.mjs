// The least a Node server can be: both eras, one tool `echo`. For measuring what a cold call costs around it.
const META = '"resultType":"complete","ttlMs":0,"cacheScope":"private",';
const TOOL = '{"name":"echo","description":"gives the text back","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}}';
const legacyOnly = process.argv.includes('--legacy');
function reply({ id, method, params }) {
  if (id === undefined) return;
  const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined ? META : '';
  const result = method === 'server/discover' && !legacyOnly ? `{${META}"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
    : method === 'initialize' ? `{"protocolVersion":"${params.protocolVersion}","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1.0.0"}}`
      : method === 'tools/list' ? `{${modern}"tools":[${TOOL}]}`
        : method === 'tools/call' ? `{${modern}"content":[{"type":"text","text":${JSON.stringify(params.arguments?.text ?? '')}}]}` : undefined;
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${result === undefined ? '"error":{"code":-32601,"message":"Method not found"}' : `"result":${result}`}}\n`);
}
let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) if (line !== '') reply(JSON.parse(line));
}).on('end', () => process.exit(0));
