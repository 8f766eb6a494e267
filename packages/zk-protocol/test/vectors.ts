import { readFileSync } from 'node:fs';
import type { JsonObject } from '../src/records/types.js';

/** A golden sample: a body exactly as Nodepool or Zuul writes it, and what it decodes to. */
export interface Vector {
  path: string;
  note: string;
  raw: string;
  body: JsonObject;
  decoded?: JsonObject;
  must_keep?: string[];
}

/** A golden sample of a body without some keys, and the values that they have by default. */
export interface DefaultsVector {
  raw: string;
  note?: string;
  decoded_except_state_time: JsonObject;
}

/** Time of reading in tests of records. */
export const NOW_MS = 1_700_000_000_000;

/** Loads a file of golden samples. */
export function loadVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`./vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}

/** The samples of a file with their notes, as rows of `it.each`. */
export function vectorsOf(name: string): [string, Vector][] {
  return loadVectors<{ vectors: Vector[] }>(name).vectors.map((vector) => [vector.note, vector]);
}

/** The object that a body holds. */
export function parseBody(body: Buffer): JsonObject {
  return JSON.parse(body.toString('utf8')) as JsonObject;
}

/** A record that must have been decoded. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing was decoded');
  return value;
}
