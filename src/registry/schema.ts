/**
 * Is this value what the schema asks for? JSON Schema 2020-12, interpreted (no code is generated), with the spellings of earlier
 * drafts. References are followed within the schema only. A schema that cannot be understood is `unusable`: never a
 * silent yes.
 */
import type { Problem } from '../base/failure.ts';
import { isObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { prepareSchema } from './schema-document.ts';
import { evaluate } from './schema-evaluate.ts';
import { nestsDeeper } from './schema-values.ts';

export type SchemaCheck =
  | { readonly valid: true }
  /** At most 20, each with a JSON Pointer (RFC 6901) into the value. Values are not repeated in the messages. */
  | { readonly valid: false; readonly problems: readonly Problem[] }
  /** The schema cannot be judged by; the reason is one clause. */
  | { readonly unusable: string };

export interface CheckOptions {
  /** Check `format` for email, uri, date and date-time (elicitation). Default: an annotation only. */
  readonly assertFormats?: boolean | undefined;
}

type Prepared = ReturnType<typeof prepareSchema>;

export function checkSchema(schema: unknown, value: unknown, options: CheckOptions = {}): SchemaCheck {
  return check(prepareSchema(schema), value, options);
}

/** The same with every schema object prepared once. A schema must not be changed in place afterwards. */
export function createSchemaChecks(): { check(schema: unknown, value: unknown, options?: CheckOptions): SchemaCheck } {
  const known = new WeakMap<object, Prepared>();
  return {
    check(schema, value, options = {}) {
      if (!isObject(schema)) return checkSchema(schema, value, options);
      let prepared = known.get(schema);
      if (prepared === undefined) known.set(schema, (prepared = prepareSchema(schema)));
      return check(prepared, value, options);
    },
  };
}

function check(prepared: Prepared, value: unknown, { assertFormats = false }: CheckOptions): SchemaCheck {
  if ('unusable' in prepared) return prepared;
  if (nestsDeeper(value, limits.jsonDepth)) return { valid: false, problems: [{ pointer: '', message: `nests deeper than ${limits.jsonDepth} levels` }] };
  const verdict = evaluate(prepared.document, value, assertFormats);
  if ('unusable' in verdict) return verdict;
  return verdict.problems.length === 0 ? { valid: true } : { valid: false, problems: verdict.problems };
}
