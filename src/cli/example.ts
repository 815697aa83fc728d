/** A command line that calls a tool: what a person copies and changes. */
import { isObject, member } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { fixedValues, kindsOf, propertiesOf, requiredOf, resolveShape } from './shape.ts';

function sampleOf(name: string, shape: JsonObject, root: JsonObject): string {
  const fixed = fixedValues(shape)?.[0] ?? shape['default'] ?? (Array.isArray(shape['examples']) ? shape['examples'][0] : undefined);
  if (typeof fixed === 'string') return /^[\w./:@-]+$/.test(fixed) ? `${name}=${fixed}` : `'${name}=${fixed.replaceAll("'", "'\\''")}'`;
  if (fixed !== undefined) return isObject(fixed) || Array.isArray(fixed) ? `${name}:='${JSON.stringify(fixed)}'` : `${name}=${String(fixed)}`;
  const kinds = kindsOf(shape, root);
  if (kinds.has('string') || kinds.size === 0) return `${name}=TEXT`;
  if (kinds.has('integer') || kinds.has('number')) return `${name}=1`;
  if (kinds.has('boolean')) return `${name}=yes`;
  return kinds.has('array') ? `${name}:='[…]'` : `${name}:='{…}'`;
}

/** `zuno-lite call NAME` with the required arguments, sample values in place. */
export function exampleCall(name: string, inputSchema: JsonObject): string {
  const properties = propertiesOf(inputSchema, inputSchema);
  const words = requiredOf(inputSchema).map((key) => sampleOf(key, resolveShape(member(properties, key), inputSchema), inputSchema));
  return ['zuno-lite call', name, ...words].join(' ');
}
