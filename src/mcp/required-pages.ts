/**
 * -32042 (MCP 2025-11-25, URL elicitation required): the server did nothing yet and names pages that a person has to visit first. They
 * are shown like any other question of the server; when all were agreed to, the same request may be sent once more.
 */
import { Failure } from '../base/failure.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { codes } from '../jsonrpc/codes.ts';
import { answerQuestion } from './answers.ts';
import type { Answers } from './types.ts';

type Refusal = Failure<'REMOTE_ERROR'>;

export interface RequiredPages {
  /** Questions of url mode. */
  readonly questions: readonly JsonObject[];
  /** Of their URLs, for messages: the rest of a URL may be a secret. */
  readonly hosts: string;
}

/** The pages that an error answer asks for; `undefined` when it is another error, or names none. */
export function requiredPages({ details, message }: Refusal): RequiredPages | undefined {
  const list = details.rpcCode === codes.urlElicitationRequired && isObject(details.data) ? details.data['elicitations'] : undefined;
  if (!Array.isArray(list) || list.length === 0 || list.length > limits.inputRounds) return undefined;
  const hosts = new Set<string>(), questions: JsonObject[] = [];
  for (const item of list as readonly unknown[]) {
    const url = isObject(item) ? item['url'] : undefined;
    if (!isObject(item) || typeof url !== 'string' || !URL.canParse(url)) return undefined;
    hosts.add(new URL(url).host);
    questions.push({ message, ...item, mode: 'url' });
  }
  return { questions, hosts: [...hosts].join(', ') };
}

/** Asks for each page in turn. Rejects where nobody can be asked, where the person does not agree, and where the server asks `again` after that. */
export async function visitPages({ questions, hosts }: RequiredPages, refusal: Refusal, answers: Answers, action: string, again: boolean, signal: AbortSignal): Promise<void> {
  const wanted = `Cannot ${action}: the server first wants a person to visit a page on ${hosts}`;
  const refuse = (words: string, hint: string): Refusal => new Failure('REMOTE_ERROR', `${wanted}${words}`, { stage: refusal.stage, details: refusal.details, hint, cause: refusal });
  if (again) throw refuse(', and still does after that was agreed to', 'Finish what the page asks for, then repeat the call');
  for (const question of questions) {
    const answer = await answerQuestion(answers, 'elicitation/create', question, signal);
    if ('error' in answer) {
      throw new Failure('CAPABILITY_MISSING', `${wanted}, and nobody can be asked here`, { stage: refusal.stage, details: { capability: 'elicitation.url' }, hint: 'Run it on a terminal, where a person can answer', cause: refusal });
    }
    if (answer.result['action'] !== 'accept') throw refuse(', which was not agreed to', 'Repeat the call to be asked again');
  }
}
