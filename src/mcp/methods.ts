/** What each request does when it is sent twice (FACTS ZA14): the only place that says so. */

const reading: ReadonlySet<string> = new Set([
  'initialize', 'server/discover', 'ping', 'tools/list', 'resources/list', 'resources/templates/list', 'resources/read',
  'prompts/list', 'prompts/get', 'completion/complete', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe',
  'skills/list', 'skills/get',
]);

/** True when repeating it changes nothing. Everything else, known or not, may have side effects. */
export function isReplaySafe(method: string): boolean {
  return reading.has(method);
}
