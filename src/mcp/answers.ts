/** What we answer when a server asks: the same handlers serve legacy requests and the requests embedded in modern results. */
import { isObject, type JsonObject } from '../base/json.ts';
import { toFailure } from '../base/failure.ts';
import { codes } from '../jsonrpc/codes.ts';
import type { InboundAnswer } from '../jsonrpc/connection.ts';
import { completeForm } from './elicitation.ts';
import type { Answers, Elicitation } from './types.ts';

/** Capabilities to declare: exactly what has a handler in this run. */
export function declaredCapabilities(answers: Answers): JsonObject {
  const modes = answers.elicitModes ?? ['form'];
  return {
    ...(answers.elicit === undefined || modes.length === 0 ? {} : { elicitation: Object.fromEntries(modes.map((mode) => [mode, {}])) }),
    ...(answers.roots === undefined ? {} : { roots: {} }),
    ...(answers.sample === undefined ? {} : { sampling: {} }),
    ...(answers.extensions === undefined ? {} : { extensions: answers.extensions }),
  };
}

const notOffered = (method: string): InboundAnswer => ({ error: { code: codes.methodNotFound, message: `Method not found: ${method}` } });

/** Answers one question. What was not declared is not found; a person's "no" is an answer, not an error. */
export async function answerQuestion(answers: Answers, method: string, params: JsonObject, signal: AbortSignal): Promise<InboundAnswer> {
  try {
    switch (method) {
      case 'roots/list': return answers.roots === undefined ? notOffered(method) : { result: { roots: await answers.roots() } };
      case 'sampling/createMessage': return answers.sample === undefined ? notOffered(method) : { result: await answers.sample(params, signal) };
      case 'elicitation/create': return answers.elicit === undefined ? notOffered(method) : await elicit(answers, params, signal);
      default: return notOffered(method);
    }
  } catch (error) {
    return { error: { code: codes.internalError, message: toFailure(error).message } };
  }
}

async function elicit(answers: Answers, params: JsonObject, signal: AbortSignal): Promise<InboundAnswer> {
  const request = readElicitation(params);
  if (typeof request === 'string') return { error: { code: codes.invalidParams, message: request } };
  if (!(answers.elicitModes ?? ['form']).includes(request.mode)) return { error: { code: codes.invalidParams, message: `Elicitation mode not declared: ${request.mode}` } };
  const answer = await answers.elicit!(request, signal);
  if (answer.action !== 'accept' || request.mode === 'url') return { result: { action: answer.action } };
  const { content, problems } = completeForm(request.requestedSchema, answer.content ?? {});
  if (problems.length > 0) {
    // The person's program accepted something the server cannot take: better no answer than a wrong one.
    return { error: { code: codes.internalError, message: `The answer does not fit the form: ${problems.map((p) => `${p.pointer} ${p.message}`).join('; ')}` } };
  }
  return { result: { action: 'accept', content } };
}

/** A missing mode means `form` (MCP 2025-11-25). */
function readElicitation(params: JsonObject): Elicitation | string {
  const { message, mode, requestedSchema, url, elicitationId } = params;
  if (typeof message !== 'string') return 'message is not a string';
  if (mode === 'url') {
    if (typeof url !== 'string' || !URL.canParse(url)) return 'url is not a URL';
    return { mode: 'url', message, url, ...(typeof elicitationId === 'string' ? { elicitationId } : {}) };
  }
  if (mode !== undefined && mode !== 'form') return `unknown elicitation mode ${String(mode)}`;
  return isObject(requestedSchema) ? { mode: 'form', message, requestedSchema } : 'requestedSchema is not an object';
}
