import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { DriverError } from '../contract/errors.js';
import type { JsonSchema } from '../contract/driver.js';
import type { ProblemCollector } from './problems.js';
import { toSentence } from './schema-sentences.js';
import type { SourceDocument } from './source-document.js';
import { pointerToPath, valueAt } from './value-path.js';
import type { ConfigMode } from '../contract/config.js';
import type { YamlPath } from '../contract/yaml-path.js';

/** What is checked, where it stands, and where to report. */
export interface SchemaCheck {
  readonly schema: JsonSchema;
  /** Changed in place: `true` where an integer is wanted becomes 1, and a text a number where the schema says so. */
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
/** Knows what a schema is; loading that takes a tenth of a second, and our own schemas need no check. */
let schemaAjv: Ajv | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** One thing that breaks a schema. */
export interface SchemaFault {
  readonly error: ErrorObject;
  /** Of the value the error is about, below the value that was checked. */
  readonly path: YamlPath;
}

/** Checks a value and reports everything wrong with it. @returns whether there was no error; most unknown keys in a service are none */
export function checkSchema(check: SchemaCheck): boolean {
  let hasErrors = false;
  for (const fault of schemaFaults(check.schema, check.value))
    hasErrors = report(check, fault) === 'error' || hasErrors;
  return !hasErrors;
}

/** What breaks a schema, without what follows from it. @param value - changed in place, as for {@link checkSchema} */
export function schemaFaults(schema: JsonSchema, value: Json): SchemaFault[] {
  const validate = compile(schema);
  let isValid = validate(value);
  if (!isValid && takeUsualSlips(value, validate.errors ?? [])) isValid = validate(value);
  if (isValid) return [];
  return mostTelling(validate.errors ?? []).map((error) => ({ error, path: pointerToPath(value, error.instancePath) }));
}

/** Compiles a driver's schema early. @throws {DriverError} the schema itself is wrong */
export function assertCompiles(driver: string, schema: JsonSchema): void {
  try {
    schemaAjv ??= createAjv({});
    void schemaAjv.validateSchema(schema, true);
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
    ajv ??= createAjv({ meta: false, validateSchema: false });
    validate = ajv.compile(schema);
    compiled.set(schema, validate);
  }
  return validate;
}

function createAjv(options: Pick<Options, 'meta' | 'validateSchema'>): Ajv {
  const created = new Ajv({
    ...options,
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
  created.addKeyword({ keyword: 'x-default', schemaType: 'string' });
  created.addKeyword({ keyword: 'x-restart', schemaType: 'boolean' });
  created.addKeyword({ keyword: 'x-loss', schemaType: 'string' });
  created.addKeyword({ keyword: 'x-numeric-text', schemaType: 'boolean' });
  return created;
}

function report(check: SchemaCheck, { error, path: below }: SchemaFault): 'error' | 'warning' {
  const { document, mode, problems } = check;
  const path = [...check.path, ...below];
  const sentence = toSentence(error, {
    reveal: check.reveal && !document.isFromEnvironment(path),
    written: document.scalarAt(path),
  });
  const severity = sentence.isIgnorable && mode === 'service' ? 'warning' : 'error';
  if (sentence.key === undefined) problems.add(document, path, sentence.message, { severity });
  else problems.add(document, [...path, sentence.key], sentence.message, { severity, atKey: true });
  return severity;
}

/** Changes what has always been taken for a number into one. @returns whether anything changed */
function takeUsualSlips(root: Json, errors: readonly ErrorObject[]): boolean {
  let changed = false;
  for (const error of errors) {
    const number = error.keyword === 'type' ? numberMeantBy(error) : undefined;
    const path = pointerToPath(root, error.instancePath);
    const key = path.at(-1);
    const parent = valueAt(root, path.slice(0, -1));
    if (number === undefined || key === undefined || parent === null || typeof parent !== 'object') continue;
    (parent as JsonObject)[key] = number;
    changed = true;
  }
  return changed;
}

/** `true` has always passed for 1, and the text of a number where the schema says so. */
function numberMeantBy({ data, schema, parentSchema }: ErrorObject): number | undefined {
  const types = [schema as string | string[]].flat();
  if (typeof data === 'boolean') return types.includes('integer') ? Number(data) : undefined;
  const takesText = parentSchema?.['x-numeric-text'] === true;
  if (!takesText || typeof data !== 'string' || data.trim() === '') return undefined;
  return Number.isFinite(Number(data)) ? Number(data) : undefined;
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
