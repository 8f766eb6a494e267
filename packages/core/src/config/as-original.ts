import type { Json } from '@nodepool/zk-protocol';
import { listOf, textOf } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';
import type { YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';

/** A value that is compared with what the original takes. */
export interface OriginalCheck {
  /**
   * Its `x-ours` has the keys that the original does not have, and its `x-services-only` those that the original's services read and
   * its config-validate refuses: `pools[].labels[].spot`, or with the kind or the value that is meant: `zone: list`, `driver: incus`. `zone: required`: what the
   * original does not take is its absence.
   */
  readonly schema: JsonSchema;
  readonly value: Json;
  readonly document: SourceDocument;
  /** Path of `value` in the document. */
  readonly path: YamlPath;
  readonly problems: ProblemCollector;
}

/** Reports each key, and kind of value, that config-validate of the original refuses and this one accepts, and what it lacks. */
export function checkAsOriginal(check: OriginalCheck): void {
  reportAll(check, 'x-ours', 'is not known to the original');
  reportAll(check, 'x-services-only', 'is refused by config-validate of the original, although its services read it');
}

function reportAll(check: OriginalCheck, keyword: string, why: string): void {
  const { schema, value, document, path, problems } = check;
  for (const entry of listOf(schema[keyword])) {
    const [place = '', kind] = (textOf(entry) ?? '').split(': ');
    const steps = place.split(/\.|(?=\[\])/);
    if (kind === 'required') {
      reportMissing(check, steps);
      continue;
    }
    for (const found of pathsIn(value, steps)) {
      const at = [...path, ...found.path];
      if (kind !== undefined && !isOfKind(kind, found.value, document.scalarAt(at)?.text)) continue;
      problems.add(document, at, `${nameOf(found.path, kind)} ${why}`, { atKey: kind === undefined });
    }
  }
}

function reportMissing({ value, document, path, problems }: OriginalCheck, steps: readonly string[]): void {
  const key = steps.at(-1) ?? '';
  for (const found of pathsIn(value, steps.slice(0, -1))) {
    if (entryOf(found.value, key).length > 0) continue;
    problems.add(document, [...path, ...found.path], `"${key}" is missing, which the original requires`);
  }
}

function nameOf(path: YamlPath, kind: string | undefined): string {
  const key = `"${String(path.findLast((step) => typeof step === 'string'))}"`;
  return kind === undefined ? key : `${key} with ${KINDS[kind] ?? `"${kind}"`}`;
}

const KINDS: Readonly<Record<string, string>> = { list: 'a list', integer: 'a number without a point' };

/** @param written - the value as it is in the file, if it is neither a map nor a list */
function isOfKind(kind: string, value: Json, written: string | undefined): boolean {
  if (kind === 'list') return Array.isArray(value);
  if (kind === 'integer') return /^[-+]?\d+$/.test(written ?? '');
  return value === kind;
}

interface Found {
  readonly path: YamlPath;
  readonly value: Json;
}

/** All values below one, with these steps; `[]`: each entry of a list. */
function pathsIn(value: Json, [step, ...rest]: readonly string[]): Found[] {
  if (step === undefined) return [{ path: [], value }];
  const below = step === '[]' ? listOf(value).map((item, index) => [index, item] as const) : entryOf(value, step);
  return below.flatMap(([key, item]) =>
    pathsIn(item, rest).map((found) => ({ path: [key, ...found.path], value: found.value })),
  );
}

function entryOf(value: Json, key: string): (readonly [string, Json])[] {
  const isMap = value !== null && typeof value === 'object' && !Array.isArray(value);
  return isMap && Object.hasOwn(value, key) ? [[key, value[key] ?? null]] : [];
}
