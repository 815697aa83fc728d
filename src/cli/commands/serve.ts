import { readPrivateText } from '../../base/files.ts';
import { sha256 } from '../../base/hash.ts';
import { limits } from '../../base/limits.ts';
import { nearest } from '../../base/text.ts';
import { isLoopbackHost } from '../../http/admission.ts';
import type { ExposureMode } from '../../registry/types.ts';
import type { Config } from '../../config/types.ts';
import type { Command, Context, Parsed } from '../command.ts';
import { entryOf, openConfig } from '../open.ts';
import { usageFailure } from '../parse.ts';
import { policyOptions } from '../policy.ts';
import { serveGateway, servingOptions, type Listening } from '../serving.ts';

const HELP = 'zuno-lite serve --help';
const MODES: readonly ExposureMode[] = ['eager', 'auto', 'deferred'];

async function run(context: Context): Promise<number> {
  const { parsed } = context, rawNames = parsed.has('raw-names');
  const http = listeningOf(parsed), exposure = exposureOf(parsed);
  const config = limited(await openConfig(context), parsed.all('server'));
  if (rawNames && config.servers.size !== 1) throw usageFailure(`Cannot take --raw-names: ${config.servers.size === 0 ? 'no server is' : `${config.servers.size} servers are`} served, and it needs exactly one`, '--raw-names', 'zuno-lite serve --raw-names --server NAME');
  return serveGateway(context, { config, gateway: { rawNames, exposure, share: parsed.value('share') }, http });
}

/** Without names: every server that is on. */
function limited(config: Config, names: readonly string[]): Config {
  const entries = names.length === 0 ? [...config.servers.values()].filter(({ enabled }) => enabled) : names.map((name) => ({ ...entryOf(config, name), enabled: true }));
  return { ...config, servers: new Map(entries.map((entry) => [entry.name, entry])), ...(names.length === 0 ? {} : { mcpEnabled: true }) };
}

function exposureOf(parsed: Parsed): ExposureMode {
  const given = parsed.value('exposure') ?? 'eager', mode = MODES.find((one) => one === given);
  if (mode === undefined) throw usageFailure(`Cannot take --exposure "${given}": it is ${MODES.join(', ')}`, given, HELP, nearest(given, MODES));
  return mode;
}

function listeningOf(parsed: Parsed): Listening | undefined {
  if (!parsed.has('http')) {
    const stray = ['host', 'port', 'token-file'].find((name) => parsed.has(name));
    if (stray !== undefined) throw usageFailure(`Cannot take --${stray} without --http`, `--${stray}`, HELP);
    return undefined;
  }
  const host = parsed.value('host'), file = parsed.value('token-file');
  const tokens = file === undefined ? undefined : tokensOf(file);
  if (host !== undefined && tokens === undefined && !isLoopbackHost(host)) throw usageFailure(`Cannot serve on "${host}": other machines could reach it and use every server behind it, and no token is set`, host, 'zuno-lite serve --http --host HOST --token-file FILE, or leave out --host');
  return { host, port: portOf(parsed.value('port')), tokens };
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw usageFailure(`Cannot take --port "${text}": it is no number from 0 to 65535`, text, HELP);
  return Number(text);
}

/** One token a line. Whose it is, is a digest of it: what a log may show, and different for each. */
function tokensOf(file: string): ReadonlyMap<string, string> {
  const lines = (readPrivateText(file, limits.configFileBytes) ?? '').split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw usageFailure(`Cannot take --token-file "${file}": there is no token in it`, file, 'One token a line');
  const weak = lines.findIndex((line) => line.length < 16 || /\s/.test(line));
  if (weak >= 0) throw usageFailure(`Cannot take --token-file "${file}": its token ${weak + 1} has spaces or fewer than 16 characters`, file, 'for instance: openssl rand -hex 32');
  return new Map(lines.map((token) => [token, `token-${sha256(token, 'hex').slice(0, 8)}`]));
}

export const command: Command = {
  usage: ['serve [--server NAME]... [--raw-names] [--exposure MODE]', 'serve --http [--host HOST] [--port N] [--token-file FILE]'],
  operands: [],
  options: [
    { name: 'http', summary: 'Streamable HTTP in place of stdio' },
    { name: 'host', value: 'HOST', summary: 'address to listen on, 127.0.0.1 by default; any that other machines reach needs --token-file' },
    { name: 'port', value: 'N', summary: 'port to listen on; default: a free one, told on stderr' },
    { name: 'token-file', value: 'FILE', summary: 'bearer tokens, one a line, of which each request must bring one; mode 0600' },
    { name: 'server', value: 'NAME', repeat: true, summary: 'serves this server only; may be repeated' },
    { name: 'raw-names', summary: 'names as the one server has them' },
    { name: 'exposure', value: 'MODE', summary: 'eager (default) lists every tool; deferred and auto list tool_search and tool_call for those that wait' },
    { name: 'share', value: 'NAME', summary: 'all clients share the servers; by default each has its own' },
    ...policyOptions, ...servingOptions,
  ],
  examples: [
    { line: 'serve', about: 'is one server on standard input and output that has the tools of all:' },
    { line: 'serve --http --port 8123', about: 'the same for clients of this machine that speak HTTP:' },
    { line: 'mcp connect-config claude-code', about: 'shows how a client is told of it:' },
  ],
  notes: ['The rules, the agent, the lock file and the audit of the configuration hold for every client. A call that a rule asks about is put to the client\'s person, where the client can ask; otherwise it is refused with the rule to add.'],
  run,
};
