/** A failure in words and as JSON, always with the five things: stage, cause, may it be repeated, origin, next step. */
import type { AnyFailure, FailureCode, Origin, Problem, Recovery } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import { redactPatterns } from '../base/redact.ts';
import { oneLine, shorten } from '../base/text.ts';
import { maskArguments } from '../registry/asking.ts';
import { addressed } from './hint.ts';
import { bold, dim, red } from './span.ts';
import type { Line } from './span.ts';

const TAIL_LINES = 8;
const EXCERPT_CHARS = 300;

/** `file:line:column (layer)`. */
export function placeText({ file, layer, line, column }: Origin): string {
  return `${file}${line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`} (${layer})`;
}

/** The same with the key inside the file. */
export function originText(origin: Origin): string {
  return `${placeText(origin)}${origin.key === undefined ? '' : `, ${origin.key}`}`;
}

const repeatText: Readonly<Record<Recovery, string>> = {
  retryable: 'yes: repeating it does no harm',
  blocked: 'no: it fails the same way until something is changed',
  unknown: 'not before you have looked: it may have taken effect',
};

const problemsText = (problems: readonly Problem[]): string => problems.map(({ pointer, message }) => `${pointer === '' ? '' : `${pointer} `}${message}`).join('; ');
const tail = (text: string | undefined): string => {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '').slice(-TAIL_LINES);
  return lines.length === 0 ? '' : `${lines.length === 1 ? '' : '\n'}${lines.map((line) => oneLine(line)).join('\n')}`;
};

/** The cause as the details and the chain of causes tell it. */
function causeText(failure: AnyFailure): string {
  switch (failure.code) {
    case 'SPAWN_FAILED': return `${failure.details.system ?? 'the system refused'} for command "${failure.details.command}"${failure.details.cwd === undefined ? '' : ` in ${failure.details.cwd}`}`;
    case 'SERVER_EXITED': {
      const { exitCode, signal, stderrTail } = failure.details;
      const said = tail(stderrTail);
      return `${signal !== null ? `ended by ${signal}` : exitCode === null ? 'ended' : `exit code ${exitCode}`}; ${said === '' ? 'it wrote nothing to stderr' : `its stderr: ${said}`}`;
    }
    case 'CONNECTION_CLOSED': { const said = tail(failure.details.stderrTail); return said === '' ? 'the server ended the connection' : `the server ended the connection; its stderr: ${said}`; }
    case 'CONNECT_FAILED': return `${failure.details.system ?? 'no connection'} at ${failure.details.address}`;
    case 'HTTP_STATUS': return `HTTP ${failure.details.status} from ${failure.details.url}${failure.details.excerpt === '' ? '' : `: ${shorten(oneLine(failure.details.excerpt), EXCERPT_CHARS)}`}`;
    case 'TIMEOUT': return `no answer${failure.details.method === undefined ? '' : ` to ${failure.details.method}`} within ${failure.details.afterMs} ms${failure.details.noiseLines ? `; ${failure.details.noiseLines} lines came that are no messages` : ''}`;
    case 'PROTOCOL_VIOLATION': return failure.details.excerpt === undefined ? inner(failure) ?? 'the server broke the protocol' : `it sent: ${shorten(oneLine(failure.details.excerpt), EXCERPT_CHARS)}`;
    case 'LIMIT_EXCEEDED': return `${failure.details.limit} is ${failure.details.maximum}${failure.details.seen === undefined ? '' : `, seen ${failure.details.seen}`}`;
    case 'REVISION_UNSUPPORTED': return `ours: ${failure.details.ours.join(', ')}; the server's: ${failure.details.theirs.join(', ') || 'not told'}`;
    case 'CAPABILITY_MISSING': return `the server does not declare "${failure.details.capability}"`;
    case 'REMOTE_ERROR': return `JSON-RPC error ${failure.details.rpcCode} to ${failure.details.method}${failure.details.data === undefined ? '' : `: ${shorten(oneLine(JSON.stringify(failure.details.data)), EXCERPT_CHARS)}`}`;
    case 'CONFIG_INVALID': case 'ARGUMENTS_INVALID': return problemsText(failure.details.problems);
    case 'CONFIG_UNREADABLE': return `${failure.details.file}${failure.details.line === undefined ? '' : `:${failure.details.line}:${failure.details.column ?? 1}`}`;
    case 'TRUST_REFUSED': return `${failure.details.keys.join(', ')} in ${failure.details.file}`;
    case 'VARIABLE_UNSET': return `${failure.details.token} in ${failure.details.key} has no value`;
    case 'URL_REFUSED': return `URL ${failure.details.url}`;
    case 'SERVER_UNKNOWN': return failure.details.known.length === 0 ? 'no server is configured' : `configured are ${failure.details.known.join(', ')}`;
    case 'TOOL_UNKNOWN': return failure.details.nearest.length === 0 ? 'no tool has a name like it' : `close to it: ${failure.details.nearest.join(', ')}`;
    case 'USAGE': return failure.details.argument === undefined ? 'the words of the command line' : `the word "${failure.details.argument}"`;
    case 'PERMISSION_DENIED': return { rule: failure.details.rule === undefined ? 'a rule' : `rule ${failure.details.rule}`, declined: 'you were asked and said no', nobody: 'the policy asks, and nobody is here to answer', lock: failure.details.diff === undefined ? 'nobody has locked what it is now' : `what changed:\n${failure.details.diff}`, child: 'a delegated session may not change connections', agent: 'the agent does not have it' }[failure.details.why];
    case 'OUTCOME_UNKNOWN': {
      const { why, method, elapsedMs, exitCode, signal, stderrTail } = failure.details;
      const said = tail(stderrTail);
      const end = typeof exitCode === 'number' ? `; exit code ${exitCode}` : typeof signal === 'string' ? `; ended by ${signal}` : '';
      return `${{ timeout: 'no answer in time', closed: 'the connection ended before the answer', unreadable: 'the answer could not be read', canceled: 'it was canceled under way' }[why]} (${method}, ${Math.round(elapsedMs)} ms)${end}${said === '' ? '' : `; its stderr: ${said}`}`;
    }
    case 'CANCELED': return failure.details.method === undefined ? 'it was canceled' : `${failure.details.method} was canceled`;
    case 'LOGIN_REQUIRED': case 'LOGIN_REFUSED': case 'ISSUER_UNTRUSTED': case 'TOKEN_REFUSED': return inner(failure) ?? failure.details.error ?? 'see the first line';
    default: return inner(failure) ?? 'see the first line';
  }
}

function inner(failure: AnyFailure): string | undefined {
  return failure.cause instanceof Error ? failure.cause.message : undefined;
}

/** The server that an origin's key names (`mcp.docs`, `mcp.servers.docs`, `mcpServers.docs`). */
function serverOf(origin: Origin | undefined): string {
  const match = /^(?:mcp\.servers|mcpServers|mcp)\.([^.]+)/.exec(origin?.key ?? '');
  return match?.[1] ?? 'NAME';
}

const nextSteps: Partial<Record<FailureCode, string>> = {
  USAGE: 'zuno-lite --help',
  SERVER_UNKNOWN: 'zuno-lite mcp list',
  TOOL_UNKNOWN: 'zuno-lite tools',
  CONFIG_UNREADABLE: 'correct the file, then repeat the command',
  CONFIG_INVALID: 'correct the file, then repeat the command',
  URL_REFUSED: 'correct the URL, then repeat the command',
  OUTCOME_UNKNOWN: 'check at the service whether it happened, then decide',
  CANCELED: 'repeat the command when you want it',
  INTERNAL: 'repeat it with --log-level debug and report what it shows',
};

/** The next command or step, also where the failure itself names none. */
export function nextText(failure: AnyFailure): string {
  if (failure.hint !== undefined) return addressed(failure.hint, serverOf(failure.origin));
  if (failure.code === 'ARGUMENTS_INVALID') return `zuno-lite tools ${failure.details.tool} --schema`;
  if (failure.code === 'VARIABLE_UNSET') return `set the variable of ${failure.details.token}, then repeat the command`;
  if (failure.code === 'TRUST_REFUSED') return 'add the directory to "trust": {"project_host_commands": [...]} in your global zuno.json, if you trust it';
  return nextSteps[failure.code] ?? `zuno-lite mcp debug ${serverOf(failure.origin)}`;
}

function originOf({ origin, stage }: AnyFailure): string {
  if (origin !== undefined) return originText(origin);
  return stage === 'usage' ? 'the command line' : stage === 'permission' ? 'no rule: the policy asks where nothing else is said' : 'no entry of the configuration';
}

/** A server's words inside our message may hold what it should not repeat. */
const messageOf = (failure: AnyFailure): string => (failure.code === 'REMOTE_ERROR' ? redactPatterns(failure.message) : failure.message);

/** What is needed to understand and to act, line by line. `next`: a better step than the failure knows. */
export function explain(failure: AnyFailure, next = nextText(failure)): Line[] {
  const row = (name: string, text: string): Line[] => text.split('\n').map((line, index) => [dim(`  ${(index === 0 ? name : '').padEnd(7)} `), line]);
  return [
    [red('error: '), bold(oneLine(messageOf(failure)))],
    ...row('stage', failure.stage),
    ...row('cause', redactPatterns(causeText(failure))),
    ...row('repeat', repeatText[failure.recovery]),
    ...row('origin', originOf(failure)),
    ...row('next', next),
  ];
}

/** What a server sent along is masked by the names of its members too; our own facts have names of their own. */
function shownDetails(failure: AnyFailure): unknown {
  return failure.code === 'REMOTE_ERROR' ? maskArguments({ ...failure.details }) : redactDeep(failure.details);
}

function redactDeep(value: unknown): unknown {
  if (typeof value === 'string') return redactPatterns(value);
  if (Array.isArray(value)) return value.map(redactDeep);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, redactDeep(one)])) : value;
}

/** The `error` member of `--json`; `next` as for `explain`. */
export function failureDocument(failure: AnyFailure, next = nextText(failure)): object {
  return {
    code: failure.code,
    stage: failure.stage,
    message: messageOf(failure),
    cause: redactPatterns(causeText(failure)),
    recovery: failure.recovery,
    details: shownDetails(failure),
    origin: failure.origin ?? null,
    hint: next,
  };
}
