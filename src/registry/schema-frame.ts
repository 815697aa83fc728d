/** What one application of a schema works with, and how it complains. */
import type { Problem } from '../base/failure.ts';
import { pointerStep } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import { count } from '../base/text.ts';
import type { Resource, SchemaDocument } from './schema-document.ts';
import { typeOf, typeWords } from './schema-values.ts';

/** A problem with what is needed to choose among the branches of `anyOf`. */
export interface Complaint extends Problem {
  /** The types one of which would have done. */
  readonly types?: readonly unknown[];
  /** The value is fixed elsewhere: most likely another form was meant. */
  readonly fixed?: boolean;
}

/** Where in the value we are; the pointer is only spelled out for a complaint. */
export interface Place { readonly parent: Place | undefined; readonly step: string | number }
export interface Scope { readonly resource: Resource; readonly outer: Scope | undefined }

/** What keywords have looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
export interface Marks { properties: Set<string>; everyProperty: boolean; items: Set<number>; firstItems: number }

export interface Run {
  readonly document: SchemaDocument;
  readonly assertFormats: boolean;
  visits: number;
  nesting: number;
  unusable: string | undefined;
}

/** One application of one schema at one place. */
export interface Frame {
  readonly run: Run;
  readonly schema: JsonObject;
  readonly place: Place | undefined;
  readonly scope: Scope;
  /** Schemas applied at this very place so far: references that lead nowhere end here. */
  readonly depth: number;
  readonly complaints: Complaint[];
  readonly marks: Marks | undefined;
}

export function pointerOf(place: Place | undefined): string {
  let pointer = '';
  for (let at = place; at !== undefined; at = at.parent) pointer = pointerStep(at.step) + pointer;
  return pointer;
}

export function complain(frame: Frame, message: string, extra: Pick<Complaint, 'types' | 'fixed'> = {}, step?: string | number): false {
  if (frame.complaints.length < limits.schemaProblems) {
    frame.complaints.push({ pointer: pointerOf(frame.place) + (step === undefined ? '' : pointerStep(step)), message, ...extra });
  }
  return false;
}

export const newMarks = (run: Run): Marks | undefined => (run.document.tracksUnevaluated ? { properties: new Set(), everyProperty: false, items: new Set(), firstItems: 0 } : undefined);

export function mergeMarks(into: Marks | undefined, from: Marks | undefined): void {
  if (into === undefined || from === undefined) return;
  for (const name of from.properties) into.properties.add(name);
  for (const index of from.items) into.items.add(index);
  into.everyProperty ||= from.everyProperty;
  into.firstItems = Math.max(into.firstItems, from.firstItems);
}

export function giveUp(run: Run, reason: string): false {
  run.unusable ??= reason;
  return false;
}

export function complainType(frame: Frame, types: readonly unknown[], value: unknown): false {
  const given = typeof value === 'number' && types.includes('integer') && !types.includes('number') ? 'is not a whole number' : `is ${typeWords([typeOf(value)])}`;
  return complain(frame, `must be ${typeWords(types)}, but ${given}`, { types });
}

/** Names the form that was most likely meant instead of all complaints of all forms. */
export function complainForms(frame: Frame, failed: readonly (readonly Complaint[])[], value: unknown): false {
  const pointer = pointerOf(frame.place);
  const onType = (complaints: readonly Complaint[]): boolean => complaints.length > 0 && complaints.every((complaint) => complaint.types !== undefined && complaint.pointer === pointer);
  const meant = failed.filter((complaints) => !onType(complaints));
  if (meant.length === 0) {
    const types = [...new Set(failed.flat().flatMap((complaint) => complaint.types ?? []))];
    return types.length === 0 ? complain(frame, 'fits none of the allowed forms') : complainType(frame, types, value);
  }
  const cost = (complaints: readonly Complaint[]): number => complaints.filter((complaint) => complaint.fixed).length * limits.schemaProblems + complaints.length;
  const best = meant.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  if (meant.length > 1 && best.every((complaint) => complaint.fixed === true && complaint.pointer === pointer)) {
    return complain(frame, `must be one of ${failed.length} allowed values or forms`, { fixed: true });
  }
  if (meant.length > 1) {
    const { pointer: deeper, message } = best[0]!;
    return complain(frame, `fits none of the ${count(failed.length, 'allowed form')} (the nearest one: ${deeper === pointer ? 'it' : deeper.slice(pointer.length)} ${message})`);
  }
  for (const complaint of best) if (frame.complaints.length < limits.schemaProblems) frame.complaints.push(complaint);
  return false;
}
