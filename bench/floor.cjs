// The least that a cold call can cost: one CommonJS file without a check, a policy or a clean-up. node floor.cjs COMMAND ARGS...
const { spawn } = require('node:child_process');
const server = spawn(process.argv[2], process.argv.slice(3), { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const steps = [['server/discover', {}], ['tools/list', {}], ['tools/call', { name: 'echo', arguments: { text: 'hello' } }]];
let step = 0, text = '';
function next() {
  const [method, params] = steps[step++];
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: step, method, params: { ...params, _meta: meta } })}\n`);
}
server.stdout.setEncoding('utf8').on('data', (chunk) => {
  text += chunk;
  while (text.split('\n').length > step) {
    if (step < steps.length) { next(); continue; }
    process.stdout.write(`${JSON.parse(text.split('\n')[step - 1]).result.content[0].text}\n`);
    server.stdin.end();
    return;
  }
});
next();
