/** The keywords that need no other schema: types, fixed values, numbers, strings. */
import { count } from '../base/text.ts';
import { formats } from './schema-formats.ts';
import { complain, complainType, giveUp } from './schema-frame.ts';
import type { Frame } from './schema-frame.ts';
import { codePoints, isMultiple, isOfType, sameJson } from './schema-values.ts';

export function checkType(frame: Frame, value: unknown): boolean {
  const stated = frame.schema['type'];
  if (stated === undefined || stated === null) return true;
  const types = Array.isArray(stated) ? stated : [stated];
  return types.some((type) => isOfType(value, type)) || complainType(frame, types, value);
}

export function checkFixed(frame: Frame, value: unknown): boolean {
  const { schema } = frame;
  const options = schema['enum'];
  if (Array.isArray(options) && !options.some((option) => sameJson(option, value))) {
    const shown = options.slice(0, 10).map((option) => JSON.stringify(option)).join(', ');
    return complain(frame, `must be one of ${shown}${options.length > 10 ? ` (and ${options.length - 10} more)` : ''}`, { fixed: true });
  }
  return !('const' in schema) || sameJson(schema['const'], value) || complain(frame, `must be ${JSON.stringify(schema['const'])}`, { fixed: true });
}

export function checkNumber(frame: Frame, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = frame.schema;
  let fits = true;
  // Draft-04 says with a boolean that the bound itself is excluded.
  if (typeof minimum === 'number' && (exclusiveMinimum === true ? value <= minimum : value < minimum)) fits = complain(frame, `must be ${exclusiveMinimum === true ? 'more than' : 'at least'} ${minimum}`);
  if (typeof maximum === 'number' && (exclusiveMaximum === true ? value >= maximum : value > maximum)) fits = complain(frame, `must be ${exclusiveMaximum === true ? 'less than' : 'at most'} ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) fits = complain(frame, `must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) fits = complain(frame, `must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf)) fits = complain(frame, `must be a multiple of ${multipleOf}`);
  return fits;
}

export function checkString(frame: Frame, value: string): boolean {
  const { minLength, maxLength, pattern, format } = frame.schema;
  const { run } = frame;
  let fits = true;
  if (typeof minLength === 'number' && (value.length < minLength || (value.length < minLength * 2 && codePoints(value) < minLength))) fits = complain(frame, `must have at least ${count(minLength, 'character')}`);
  if (typeof maxLength === 'number' && value.length > maxLength && codePoints(value) > maxLength) fits = complain(frame, `must have at most ${count(maxLength, 'character')}`);
  if (typeof pattern === 'string') {
    const matched = run.document.patterns.get(pattern)?.(value);
    if (matched === undefined) return giveUp(run, `a pattern is too costly to try on ${count(value.length, 'character')}`);
    if (!matched) fits = complain(frame, `must match the pattern ${pattern}`);
  }
  if (run.assertFormats && typeof format === 'string' && Object.hasOwn(formats, format) && !formats[format]!.test(value)) fits = complain(frame, `must be ${formats[format]!.words}`);
  return fits;
}
