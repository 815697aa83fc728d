/** What a server may ask its client, whether the client declared it, and whether an answer has the shape of one. */
import { isObject, type JsonObject } from '../base/json.ts';
import { invalidParams } from './server-fault.ts';

/** What the client would have had to declare for this question; `undefined` when it did. A method that is no question needs what nobody can declare. */
export function undeclared(method: string, params: JsonObject, declared: JsonObject): JsonObject | undefined {
  switch (method) {
    case 'elicitation/create': {
      const mode = params['mode'] === 'url' ? 'url' : 'form';
      const { elicitation } = declared;
      // An empty object means form (MCP 2025-11-25).
      const modes = isObject(elicitation) ? (elicitation['form'] === undefined && elicitation['url'] === undefined ? { form: {} } : elicitation) : {};
      return isObject(modes[mode as keyof typeof modes]) ? undefined : { elicitation: { [mode]: {} } };
    }
    case 'sampling/createMessage': {
      const { sampling } = declared;
      const tools = params['tools'] !== undefined || params['toolChoice'] !== undefined;
      if (isObject(sampling) && (!tools || isObject(sampling['tools']))) return undefined;
      return { sampling: tools ? { tools: {} } : {} };
    }
    case 'roots/list': return isObject(declared['roots']) ? undefined : { roots: {} };
    default: return { [method]: {} };
  }
}

/** Answers as a client sends them back with its retry, by key; each must at least be an object. Throws `invalidParams`. */
export function readResponses(params: JsonObject): Readonly<Record<string, JsonObject>> | undefined {
  if (!Object.hasOwn(params, 'inputResponses')) return undefined;
  const { inputResponses } = params;
  if (!isObject(inputResponses)) throw invalidParams('Invalid params: inputResponses is not an object');
  for (const [key, response] of Object.entries(inputResponses)) {
    if (!isObject(response)) throw invalidParams(`Invalid params: the input response ${JSON.stringify(key)} is not an object`);
  }
  return inputResponses as Readonly<Record<string, JsonObject>>;
}

/** What is wrong with an answer to that question; `undefined` when nothing is. */
export function faultOfAnswer(method: string, answer: JsonObject): string | undefined {
  switch (method) {
    case 'elicitation/create': {
      const { action, content } = answer;
      if (action !== 'accept' && action !== 'decline' && action !== 'cancel') return 'its action is none';
      return content === undefined || content === null || isObject(content) ? undefined : 'its content is not an object';
    }
    case 'sampling/createMessage': return typeof answer['role'] === 'string' && typeof answer['content'] === 'object' && answer['content'] !== null ? undefined : 'it has no role or no content';
    case 'roots/list': return Array.isArray(answer['roots']) ? undefined : 'its roots are no list';
    default: return undefined;
  }
}
