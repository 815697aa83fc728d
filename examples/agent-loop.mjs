#!/usr/bin/env node
/**
 * A small agent: a model behind a chat-completions endpoint, the tools of the configured MCP servers, and you, who are asked before a
 * tool runs that no rule allows.
 *
 *   MODEL_URL=http://127.0.0.1:8080/v1 MODEL=name MODEL_KEY=... node examples/agent-loop.mjs "What is 2 + 3?"
 *
 * The answer is printed on stdout; then you may go on, or end it with an empty line.
 */
import { homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { createHost, isFailure, loadConfig, resolvePaths, toChatResults, toChatTools } from 'zuno-lite';

const { MODEL_URL, MODEL, MODEL_KEY } = process.env;
const MOST_REQUESTS = 20;

const keyboard = createInterface({ input: process.stdin, output: process.stderr });
const stop = new AbortController(), unplugged = new AbortController();
for (const source of [process, keyboard]) source.once('SIGINT', () => { stop.abort(); unplugged.abort(); });
keyboard.once('close', () => unplugged.abort());

/** One question at a time; undefined once nobody is there to answer. */
let asking = Promise.resolve();
function ask(words) {
  const answer = asking.then(() => keyboard.question(words, { signal: unplugged.signal })).catch(() => undefined);
  asking = answer;
  return answer;
}

/** Arguments come with their secrets masked. JSON escapes what could move the cursor, but for a few characters of Unicode. */
async function approve({ entry, args, decision }) {
  const shown = JSON.stringify(args).replace(/[^\x20-\x7e]/g, '?');
  const answer = await ask(`${decision.why}\n  ${entry.id} ${shown}\nMay it run? [o]nce, [a]lways, [n]o: `);
  if (answer === undefined) return 'nobody';
  return { o: 'once', a: 'always' }[answer.trim().toLowerCase()[0]] ?? 'no';
}

async function complete(messages, tools) {
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST', signal: stop.signal,
    headers: { 'content-type': 'application/json', ...(MODEL_KEY ? { authorization: `Bearer ${MODEL_KEY}` } : {}) },
    body: JSON.stringify({ model: MODEL, messages, ...(tools.length > 0 ? { tools } : {}) }),
  });
  if (!response.ok) throw new Error(`The model answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  return (await response.json()).choices[0].message;
}

/** What a model wrote may be no JSON; the gate then says what is wrong with it. */
function parse(text) {
  try { return JSON.parse(text || '{}'); } catch { return text; }
}

/** Earlier turns for the next request: calls of tools that are gone, or others by now, become plain text. */
function told(session, step, turns) {
  const past = turns.flatMap(({ exchanges }) => exchanges.flatMap(({ calls, results }) => calls.map((call, n) => ({ ...call, text: results[n].text, isError: results[n].isError }))));
  const inert = new Map(session.history(past, step).flatMap((item) => (item.kind === 'text' ? [[item.callId, item.text]] : [])));
  return turns.flatMap(({ question, exchanges, answer }) => [
    { role: 'user', content: question },
    ...exchanges.flatMap(({ message, results }) => {
      const kept = message.tool_calls.filter(({ id }) => !inert.has(id));
      const texts = message.tool_calls.flatMap(({ id }) => inert.get(id) ?? []);
      return [
        { role: 'assistant', content: [message.content, ...texts].filter(Boolean).join('\n') || null, ...(kept.length > 0 ? { tool_calls: kept } : {}) },
        ...toChatResults(results.filter(({ callId }) => !inert.has(callId))),
      ];
    }),
    { role: 'assistant', content: answer },
  ]);
}

/** One question until the model stops asking for tools. */
async function answerTo(question, session, turns) {
  const exchanges = [], news = [{ role: 'user', content: question }];
  for (let request = 0; request < MOST_REQUESTS; request++) {
    const step = await session.step({ signal: stop.signal });
    for (const note of step.notes) console.error(note);
    const message = await complete([...told(session, step, turns), ...news], toChatTools(step.tools));
    if (!message.tool_calls?.length) { turns.push({ question, exchanges, answer: message.content ?? '' }); return message.content ?? ''; }
    const calls = message.tool_calls.map(({ id, function: { name, arguments: text } }) => ({ callId: id, id: name, args: parse(text) }));
    const results = await step.callAll(calls, { signal: stop.signal });
    for (const { id, outcome } of results) console.error(`${id}: ${outcome}`);
    exchanges.push({ message, calls, results });
    news.push(message, ...toChatResults(results));
  }
  throw new Error(`The model asked for tools ${MOST_REQUESTS} times and did not come to an end`);
}

async function main(first) {
  const paths = resolvePaths({ platform: process.platform, home: homedir(), environment: process.env });
  const config = loadConfig({ cwd: process.cwd(), environment: process.env, paths });
  const host = createHost({ config, environment: process.env, paths, person: { approve } });
  try {
    const session = await host.session({ signal: stop.signal }), turns = [];
    for (let question = first; question; question = (await ask('> '))?.trim()) console.log(await answerTo(question, session, turns));
  } finally {
    keyboard.close();
    await host.close();
  }
}

if (!MODEL_URL || !MODEL || process.argv.length < 3) {
  console.error('Usage: MODEL_URL=URL MODEL=NAME [MODEL_KEY=KEY] node agent-loop.mjs QUESTION');
  keyboard.close();
  process.exitCode = 2;
} else {
  await main(process.argv.slice(2).join(' ')).catch((error) => {
    console.error(isFailure(error) && error.hint ? `${error.message}\nNext: ${error.hint}` : error.message);
    process.exitCode = 1;
  });
}
