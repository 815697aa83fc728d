/**
 * Tools and results as model providers take them, in the two common shapes: *chat* (functions with `parameters`, answers as messages of
 * the role `tool`) and *message* (tools with `input_schema`, answers as `tool_result` blocks). Shapes only: nothing is sent from here.
 */
import type { JsonObject } from '../base/json.ts';
import { ERROR_PREFIX } from './results.ts';
import type { Part } from './results.ts';
import type { OfferedTool } from './types.ts';

export interface ChatTool { readonly type: 'function'; readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject } }
export interface MessageTool { readonly name: string; readonly description: string; readonly input_schema: JsonObject }

/** What is needed of a call's result; a `StepResult` has it. */
export interface ShownResult { readonly callId: string; readonly isError: boolean; readonly parts: readonly Part[] }

export type ChatPicture = { readonly type: 'text'; readonly text: string } | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };
export type ChatMessage =
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly ChatPicture[] };

interface MessageBytes { readonly type: 'base64'; readonly media_type: string; readonly data: string }
export type MessageContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'document'; readonly source: MessageBytes };
export interface MessageResult { readonly type: 'tool_result'; readonly tool_use_id: string; readonly content: readonly MessageContent[]; readonly is_error?: true }

/** Neither shape takes a text that is empty or blank. */
const NOTHING = '(no output)';
const isBlank = (text: string): boolean => text.trim() === '';

export function toChatTools(tools: readonly OfferedTool[]): readonly ChatTool[] {
  return tools.map(({ id, description, inputSchema }) => ({ type: 'function', function: { name: id, description, parameters: inputSchema } }));
}

export function toMessageTools(tools: readonly OfferedTool[]): readonly MessageTool[] {
  return tools.map(({ id, description, inputSchema }) => ({ name: id, description, input_schema: inputSchema }));
}

type Picture = Extract<Part, { kind: 'image' }>;
/** Not a document. */
const isPicture = (part: Part): boolean => part.kind === 'image' && part.mediaType.startsWith('image/');
const dataUrl = ({ mediaType, data }: Picture): string => `data:${mediaType};base64,${data}`;
/** A document is only told of: this shape has no place for one that all providers know. */
const wordOf = (part: Part): string => (part.kind === 'image' && !isPicture(part) ? `${part.text} [not passed on: only pictures are]` : part.text);
const wordsOf = (parts: readonly Part[]): string => parts.map(wordOf).filter((text) => !isBlank(text)).join('\n\n') || NOTHING;

/**
 * The answers to all calls of one assistant message, in their order. A message of the role `tool` holds text only, and all of them have to
 * come before anything else: pictures follow in one message of the user, each under the id of its call.
 */
export function toChatResults(results: readonly ShownResult[]): readonly ChatMessage[] {
  const answers = results.map(({ callId, parts }): ChatMessage => ({ role: 'tool', tool_call_id: callId, content: wordsOf(parts) }));
  const pictures = results.flatMap(({ callId, parts }) => {
    const own = parts.flatMap((part): ChatPicture[] => (part.kind === 'image' && isPicture(part) ? [{ type: 'image_url', image_url: { url: dataUrl(part) } }] : []));
    return own.length === 0 ? [] : [{ type: 'text' as const, text: `Images returned by the tool call ${callId}:` }, ...own];
  });
  return pictures.length === 0 ? answers : [...answers, { role: 'user', content: pictures }];
}

/** The same for a single call. */
export function toChatResult(result: ShownResult): readonly ChatMessage[] {
  return toChatResults([result]);
}

/**
 * One block; the blocks of all calls of one assistant message belong into one message of the user, before any text. A block that is marked as an
 * error may hold text only: an error with pictures says in words that it is one.
 */
export function toMessageResult({ callId, isError, parts }: ShownResult): MessageResult {
  const content = parts.flatMap((part): MessageContent[] => {
    if (part.kind === 'image') return [{ type: isPicture(part) ? 'image' : 'document', source: { type: 'base64', media_type: part.mediaType, data: part.data } }];
    return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
  });
  const block: MessageResult = { type: 'tool_result', tool_use_id: callId, content: content.length > 0 ? content : [{ type: 'text', text: NOTHING }] };
  if (!isError) return block;
  if (content.every(({ type }) => type === 'text')) return { ...block, is_error: true };
  const told = content[0]?.type === 'text' && content[0].text.startsWith(ERROR_PREFIX);
  return told ? block : { ...block, content: [{ type: 'text', text: ERROR_PREFIX }, ...content] };
}
