import type { ErrorObject } from 'ajv';
import type { Json } from '@nodepool/zk-protocol';
import { describeTypes, describeValue, joinAlternatives } from './describe-value.js';
import { didYouMean } from './suggest.js';

/** A schema violation in words. */
export interface SchemaSentence {
  message: string;
  /** A key below the value the error is about: the place to point at. */
  key: string | undefined;
  isUnknownKey: boolean;
}

type SchemaNode = Readonly<Record<string, unknown>>;

/**
 * Says in words what one ajv error means.
 * @param reveal - whether the value may be quoted
 */
export function toSentence(error: ErrorObject, reveal: boolean): SchemaSentence {
  const node: SchemaNode = error.parentSchema ?? {};
  if (error.keyword === 'additionalProperties') return unknownKey(error, node);
  if (error.keyword === 'required') {
    const missing = String(error.params['missingProperty']);
    return { message: `the key "${missing}" is missing`, key: undefined, isUnknownKey: false };
  }
  const custom = node['x-message'];
  const message = typeof custom === 'string' ? custom : describe(error, node, reveal && node['x-secret'] !== true);
  return { message, key: undefined, isUnknownKey: false };
}

function unknownKey(error: ErrorObject, node: SchemaNode): SchemaSentence {
  const name = String(error.params['additionalProperty']);
  const known = Object.keys(node['properties'] ?? {});
  const hint = didYouMean(name, known) || (known.length <= 12 ? `, expected one of ${known.join(', ')}` : '');
  return { message: `unknown key "${name}"${hint}`, key: name, isUnknownKey: true };
}

/** Words for each keyword; what has none falls back to the keyword's name. */
function describe(error: ErrorObject, node: SchemaNode, reveal: boolean): string {
  const got = `got ${describeValue(error.data, reveal)}`;
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'type': {
      const types = [node['type']].flat().map(String);
      return `expected ${describeTypes(types)}, ${got}${quotingHint(types, error.data)}`;
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

function quotingHint(types: readonly string[], data: unknown): string {
  if (typeof data === 'string' && data.trim() !== '' && Number.isFinite(Number(data))) {
    return types.includes('integer') || types.includes('number') ? ' (write it without quotes)' : '';
  }
  const isPlainScalar = typeof data === 'number' || typeof data === 'boolean';
  return isPlainScalar && types.includes('string') ? ' (put it in quotes)' : '';
}

/** Alternatives are either about which keys are there or about the kind of value. */
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
