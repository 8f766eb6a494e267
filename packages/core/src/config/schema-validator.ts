import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { DriverError } from '../errors.js';
import type { JsonSchema } from '../driver/types.js';
import type { ProblemCollector } from './problems.js';
import { toSentence } from './schema-sentences.js';
import type { SourceDocument } from './source-document.js';
import type { ConfigMode } from './types.js';
import type { YamlPath } from './yaml-path.js';

/** What is checked, where it stands, and where to report. */
export interface SchemaCheck {
  readonly schema: JsonSchema;
  /** Changed in place: `true` where an integer is wanted becomes 1. */
  readonly value: Json;
  readonly document: SourceDocument;
  /** Path of `value` in the document. */
  readonly path: YamlPath;
  readonly mode: ConfigMode;
  readonly problems: ProblemCollector;
  /** Whether values may be quoted in messages. */
  readonly reveal: boolean;
}

let ajv: Ajv | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** Checks a value and reports everything wrong with it. @returns whether there was no error; unknown keys in a service are none */
export function checkSchema(check: SchemaCheck): boolean {
  const validate = compile(check.schema);
  let isValid = validate(check.value);
  if (!isValid && takeBooleansAsIntegers(check.value, validate.errors ?? [])) isValid = validate(check.value);
  if (isValid) return true;
  let hasErrors = false;
  for (const error of mostTelling(validate.errors ?? [])) hasErrors = report(check, error) === 'error' || hasErrors;
  return !hasErrors;
}

/** Compiles a driver's schema early. @throws {DriverError} the schema itself is wrong */
export function assertCompiles(driver: string, schema: JsonSchema): void {
  try {
    compile(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DriverError(driver, `driver "${driver}": its configuration schema is not valid: ${reason}`, {
      cause: error,
    });
  }
}

function compile(schema: JsonSchema): ValidateFunction {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    ajv ??= createAjv();
    validate = ajv.compile(schema);
    compiled.set(schema, validate);
  }
  return validate;
}

function createAjv(): Ajv {
  const created = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    validateFormats: false,
    logger: false,
  });
  created.addKeyword({ keyword: 'x-secret', schemaType: 'boolean' });
  created.addKeyword({ keyword: 'x-message', schemaType: 'string' });
  return created;
}

function report(check: SchemaCheck, error: ErrorObject): 'error' | 'warning' {
  const { document, mode, problems } = check;
  const below = pointerToPath(check.value, error.instancePath);
  const path = [...check.path, ...below];
  const sentence = toSentence(error, check.reveal && !document.isFromEnvironment(path));
  const severity = sentence.isUnknownKey && mode === 'service' ? 'warning' : 'error';
  if (sentence.key === undefined) problems.add(document, path, sentence.message, { severity });
  else problems.add(document, [...path, sentence.key], sentence.message, { severity, atKey: true });
  return severity;
}

/** `true` has always passed for 1. @returns whether anything changed */
function takeBooleansAsIntegers(root: Json, errors: readonly ErrorObject[]): boolean {
  let changed = false;
  for (const error of errors) {
    if (error.keyword !== 'type' || typeof error.data !== 'boolean') continue;
    if (![error.schema as string | string[]].flat().includes('integer')) continue;
    const path = pointerToPath(root, error.instancePath);
    const key = path.at(-1);
    const parent = valueAt(root, path.slice(0, -1));
    if (key === undefined || parent === null || typeof parent !== 'object') continue;
    (parent as JsonObject)[key] = Number(error.data);
    changed = true;
  }
  return changed;
}

/**
 * With alternatives ajv reports each branch's errors and then the choice itself. Keeps the errors of the one branch that
 * was evidently meant, else only the choice.
 */
function mostTelling(errors: readonly ErrorObject[]): ErrorObject[] {
  let kept = [...errors];
  for (const choice of errors) {
    if (!['oneOf', 'anyOf', 'if', 'not'].includes(choice.keyword) || !kept.includes(choice)) continue;
    const prefix = `${choice.schemaPath}/`;
    const isInside = (error: ErrorObject) =>
      error.schemaPath.startsWith(prefix) && `${error.instancePath}/`.startsWith(`${choice.instancePath}/`);
    const inside = kept.filter(isInside);
    const meant = meantBranch(inside, choice, prefix);
    const drop = new Set(meant === undefined ? inside : [choice, ...inside.filter((error) => !meant.includes(error))]);
    kept = kept.filter((error) => !drop.has(error));
  }
  return kept;
}

function meantBranch(inside: readonly ErrorObject[], choice: ErrorObject, prefix: string): ErrorObject[] | undefined {
  const branches = new Map<string, ErrorObject[]>();
  for (const error of inside) {
    const branch = error.schemaPath.slice(prefix.length).split('/')[0] ?? '';
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const isWrongKind = (error: ErrorObject) =>
    error.instancePath === choice.instancePath && ['type', 'required', 'const', 'enum'].includes(error.keyword);
  const fitting = [...branches.values()].filter((branch) => !branch.some(isWrongKind));
  return branches.size > 1 && fitting.length === 1 ? fitting[0] : undefined;
}

function pointerToPath(root: Json, pointer: string): (string | number)[] {
  const path: (string | number)[] = [];
  let value: Json | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(key) : key);
    value = value !== null && typeof value === 'object' ? (value as JsonObject)[key] : undefined;
  }
  return path;
}

function valueAt(root: Json, path: YamlPath): Json | undefined {
  let value: Json | undefined = root;
  for (const part of path)
    value = value !== null && typeof value === 'object' ? (value as JsonObject)[part] : undefined;
  return value;
}
