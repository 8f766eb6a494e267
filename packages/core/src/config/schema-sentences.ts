import type { ErrorObject } from 'ajv';
import type { Json } from '@nodepool/zk-protocol';
import { describeTypes, describeValue, joinAlternatives } from './describe-value.js';
import type { WrittenScalar } from './source-document.js';
import { didYouMean, nearestName } from '../text/suggest.js';
import { unresolvedNames, unresolvedReference } from './syntax-problems.js';

/** A schema violation in words. */
export interface SchemaSentence {
  message: string;
  /** Key below the invalid value at which to report the error. */
  key: string | undefined;
  /** Whether the key may belong to a newer version, so that services ignore it. */
  isIgnorable: boolean;
}

type SchemaNode = Readonly<Record<string, unknown>>;

/** The invalid value of an error. */
export interface JudgedValue {
  /** Whether the value may be quoted. */
  readonly reveal: boolean;
  /** As written in the file; `undefined` for maps and lists. */
  readonly written: WrittenScalar | undefined;
}

/** Describes an ajv error in words. */
export function toSentence(error: ErrorObject, value: JudgedValue): SchemaSentence {
  const node: SchemaNode = error.parentSchema ?? {};
  if (error.keyword === 'additionalProperties') return unknownKey(error, node);
  if (error.keyword === 'required') {
    const missing = String(error.params['missingProperty']);
    return { message: `the key "${missing}" is missing`, key: undefined, isIgnorable: false };
  }
  const custom = node['x-message'];
  const judged = { ...value, reveal: value.reveal && node['x-secret'] !== true };
  const message = typeof custom === 'string' ? custom : describe(error, node, judged);
  const [unset] = unresolvedNames(value.written?.text ?? '');
  const cause = unset === undefined ? '' : `: ${unresolvedReference(unset)}`;
  return { message: message + cause, key: undefined, isIgnorable: false };
}

function unknownKey(error: ErrorObject, node: SchemaNode): SchemaSentence {
  const name = String(error.params['additionalProperty']);
  const properties = (node['properties'] ?? {}) as Readonly<Record<string, SchemaNode>>;
  const known = Object.keys(properties);
  const nearest = nearestKey(name, properties);
  const loss = nearest === undefined || nearest in (error.data as object) ? undefined : properties[nearest]?.['x-loss'];
  const consequence = typeof loss === 'string' ? ` ${loss}` : '';
  const hint = nearest === undefined ? expectation(known) : `, did you mean "${nearest}"?`;
  return { message: `unknown key "${name}"${hint}${consequence}`, key: name, isIgnorable: consequence === '' };
}

/** Finds the known key that is most similar to a mistyped one, by name or alias. */
function nearestKey(name: string, properties: Readonly<Record<string, SchemaNode>>): string | undefined {
  const names = Object.entries(properties).flatMap(([key, node]) => {
    const others = (node['x-other-names'] ?? []) as readonly string[];
    return [key, ...others].map((each): [string, string] => [each, key]);
  });
  const keyOf = new Map(names);
  return keyOf.get(nearestName(name, keyOf.keys()) ?? '');
}

function expectation(known: readonly string[]): string {
  return known.length <= 12 ? `, expected one of ${known.join(', ')}` : '';
}

/**
 * Describes the error of a keyword; unknown keywords are named.
 * In one piece: a flat table, with a line or two per keyword.
 */
function describe(error: ErrorObject, node: SchemaNode, value: JudgedValue): string {
  const { reveal, written } = value;
  const got = `got ${describeValue(error.data, reveal, written?.text)}`;
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'type': {
      const types = [node['type']].flat().map(String);
      return `expected ${describeTypes(types)}, ${got}${howToWrite(types, error.data, value)}`;
    }
    case 'enum':
      return enumSentence(node['enum'] as Json[], error.data, reveal);
    case 'const':
      return `expected ${JSON.stringify(params['allowedValue'])}, ${got}`;
    case 'minimum':
    case 'exclusiveMinimum':
    case 'maximum':
    case 'exclusiveMaximum':
      return `expected a number ${String(params['comparison'])} ${String(params['limit'])}, ${got}`;
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return params['limit'] === 1 ? 'must not be empty' : `expected at least ${String(params['limit'])} of it, ${got}`;
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return `expected at most ${String(params['limit'])} of it, ${got}`;
    case 'pattern':
      return `expected text of the form ${String(params['pattern'])}, ${got}`;
    case 'uniqueItems':
      return `entries ${String(params['j'])} and ${String(params['i'])} are equal, expected each once`;
    case 'oneOf':
    case 'anyOf':
      return alternatives(error.keyword, node, got);
    case 'not':
      return notSentence(node);
    case 'dependentRequired':
    case 'dependencies':
      return `"${String(params['property'])}" needs "${String(params['missingProperty'])}" beside it`;
    case 'propertyNames':
      return `the key "${String(params['propertyName'])}" is not allowed here`;
    default:
      return `breaks the rule "${error.keyword}", ${got}`;
  }
}

function enumSentence(allowed: readonly Json[], data: unknown, reveal: boolean): string {
  const hint =
    typeof data === 'string'
      ? didYouMean(
          data,
          allowed.filter((value) => typeof value === 'string'),
        )
      : '';
  const names = allowed.map((value) => JSON.stringify(value));
  return `expected ${joinAlternatives(names)}, got ${describeValue(data, reveal)}${hint}`;
}

function howToWrite(types: readonly string[], data: unknown, { reveal, written }: JudgedValue): string {
  const wantsNumber = types.includes('integer') || types.includes('number');
  if (typeof data === 'string' && wantsNumber) return numberHint(data, reveal, written);
  const isPlainScalar = typeof data === 'number' || typeof data === 'boolean';
  return isPlainScalar && types.includes('string') ? ' (put it in quotes)' : '';
}

/** Explains why a value that looks like a number is text, and how to write it. */
function numberHint(data: string, reveal: boolean, written: WrittenScalar | undefined): string {
  const meant = Number(data.replaceAll('_', ''));
  if (data.trim() === '' || !Number.isFinite(meant)) return '';
  if (written?.isPlain !== true) return ' (write it without quotes)';
  const digits = reveal && Number.isSafeInteger(meant) ? `: write ${meant}` : ': write plain digits';
  if (/^[-+]?0\d/.test(data)) return ` (with a leading zero it is no number${digits})`;
  if (/[eE]/.test(data)) return ` (with an exponent it is no number here${digits})`;
  return ` (in this form it is no number${digits})`;
}

/** Describes alternatives, which concern either keys or the kind of value. */
function alternatives(keyword: 'oneOf' | 'anyOf', node: SchemaNode, got: string): string {
  const branches = node[keyword] as SchemaNode[];
  const keys = branches.map((branch) => branch['required']).filter((required) => Array.isArray(required));
  if (keys.length === branches.length) {
    const names = keys.map((required) => required.map((name) => `"${String(name)}"`).join(' with '));
    return `expected ${keyword === 'oneOf' ? 'exactly' : 'at least'} one of ${joinAlternatives(names)}`;
  }
  const types = branches.flatMap((branch) => [branch['type'] ?? []].flat()).map(String);
  return `expected ${describeTypes([...new Set(types)])}, ${got}`;
}

function notSentence(node: SchemaNode): string {
  const required = (node['not'] as SchemaNode)['required'];
  if (!Array.isArray(required)) return 'this value is not allowed here';
  const names = required.map((name) => `"${String(name)}"`);
  return names.length === 1 ? `${names.join('')} is not allowed here` : `${names.join(' and ')} exclude each other`;
}
