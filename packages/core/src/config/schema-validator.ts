import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { DriverError } from '../contract/errors.js';
import type { JsonSchema } from '../contract/driver.js';
import type { ProblemCollector } from './problems.js';
import { checkAsOriginal } from './as-original.js';
import { describeValue } from './describe-value.js';
import { checkExactKinds } from './exact-kinds.js';
import { isRequiredBy, readingOf, type Reading } from './lenient-values.js';
import { toSentence } from './schema-sentences.js';
import type { SourceDocument } from './source-document.js';
import { pointerToPath, valueAt } from './value-path.js';
import type { ConfigMode } from '../contract/config.js';
import type { YamlPath } from '../contract/yaml-path.js';

/** Value to check, its position, and the collector of problems. */
export interface SchemaCheck {
  readonly schema: JsonSchema;
  /** Changed in place: `true` becomes 1 where an integer is expected, and text a number if the schema allows it. */
  readonly value: Json;
  readonly document: SourceDocument;
  /** Path of `value` in the document. */
  readonly path: YamlPath;
  readonly mode: ConfigMode;
  readonly problems: ProblemCollector;
  /** Whether values may be quoted in messages. */
  readonly reveal: boolean;
  /** Whether what the original does not take is an error. Default false. */
  readonly asOriginal?: boolean | undefined;
}

let ajv: Ajv | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** One violation of a schema. */
export interface SchemaFault {
  readonly error: ErrorObject;
  /** Path of the invalid value, relative to the checked value. */
  readonly path: YamlPath;
}

/**
 * Checks a value and reports all problems. Converts invalid values that Nodepool (Python) accepts as it does, with a
 * warning.
 * @returns whether there was no error; unknown keys in a service are not errors
 */
export function checkSchema(check: SchemaCheck): boolean {
  let hasErrors = false;
  if (check.asOriginal === true) checkAsOriginal(check);
  for (const fault of readAsTheOriginal(check)) hasErrors = report(check, fault) === 'error' || hasErrors;
  if (check.mode === 'validate') checkExactKinds(check.schema, check.value, check.path, check);
  return !hasErrors;
}

/** Finds the violations of a schema, without consequential ones. @param value - changed in place, as for {@link checkSchema} */
export function schemaFaults(schema: JsonSchema, value: Json): SchemaFault[] {
  const validate = compile(schema);
  if (validate(value)) return [];
  return mostTelling(validate.errors ?? []).map((error) => ({ error, path: pointerToPath(value, error.instancePath) }));
}

/** Maximum number of rounds. Some values are checked only after another one changed. */
const MOST_ROUNDS = 20;

/** Converts values in place as Nodepool (Python) does. @returns the remaining violations, including those of kept values */
function readAsTheOriginal(check: SchemaCheck): SchemaFault[] {
  let faults = schemaFaults(check.schema, check.value);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const changed = faults.filter((fault) => applyReading(check, fault));
    if (changed.length === 0) break;
    faults = schemaFaults(check.schema, check.value);
  }
  return faults;
}

/** @returns whether the value changed */
function applyReading(check: SchemaCheck, fault: SchemaFault): boolean {
  const { error, path } = fault;
  const reading = readingFor(check, fault);
  const key = path.at(-1);
  const parent = valueAt(check.value, path.slice(0, -1));
  if (reading === undefined || reading.value === error.data || key === undefined) return false;
  if (parent === undefined || parent === null || typeof parent !== 'object') return false;
  if (reading.isUsual !== true) report(check, fault);
  if (reading.value === undefined) Reflect.deleteProperty(parent, key);
  else (parent as JsonObject)[key] = reading.value;
  return true;
}

function readingFor(check: SchemaCheck, { error, path }: SchemaFault): Reading | undefined {
  const key = path.at(-1);
  const fault = {
    error,
    written: check.document.scalarAt([...check.path, ...path]),
    isRequired: typeof key === 'string' && isRequiredBy(check.schema, error.schemaPath, key),
    isListed: typeof key === 'number',
    isOfProvider: check.path.length > 0,
  };
  return readingOf(fault, check.mode);
}

/** Compiles a driver's schema early. @throws {DriverError} the schema is invalid */
export function assertCompiles(driver: string, schema: JsonSchema): void {
  try {
    compile(schema);
  } catch (error) {
    const reason = schemaFault(schema) ?? (error instanceof Error ? error.message : String(error));
    throw new DriverError(driver, `driver "${driver}": its configuration schema is not valid: ${reason}`, {
      cause: error,
    });
  }
}

/**
 * The rule of JSON Schema that a schema breaks, from the error that names the expected values. Compiling finds most faults; the
 * meta-schema, which takes a tenth of a second to load, describes their place better.
 */
function schemaFault(schema: JsonSchema): string | undefined {
  const describing = createAjv({});
  if (describing.validateSchema(schema) === true) return undefined;
  const errors = describing.errors ?? [];
  const told = errors.find(({ keyword }) => keyword === 'enum') ?? errors[0];
  if (told === undefined) return 'it is no JSON schema';
  const place = told.instancePath.slice(1).replaceAll('/', '.') || 'the schema';
  return `${place}: ${toSentence(told, { reveal: true, written: undefined }).message}`;
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
  created.addKeyword({ keyword: 'x-ours', schemaType: 'array' });
  created.addKeyword({ keyword: 'x-services-only', schemaType: 'array' });
  created.addKeyword({ keyword: 'x-message', schemaType: 'string' });
  created.addKeyword({ keyword: 'x-default', schemaType: 'string' });
  created.addKeyword({ keyword: 'x-restart', schemaType: 'boolean' });
  created.addKeyword({ keyword: 'x-loss', schemaType: 'string' });
  created.addKeyword({ keyword: 'x-other-names', schemaType: 'array' });
  created.addKeyword({ keyword: 'x-numeric-text', schemaType: 'boolean' });
  created.addKeyword({ keyword: 'x-as-written', schemaType: 'boolean' });
  created.addKeyword({ keyword: 'x-tolerates', schemaType: 'object' });
  return created;
}

function report(check: SchemaCheck, fault: SchemaFault): 'error' | 'warning' {
  const { document, mode, problems } = check;
  const path = [...check.path, ...fault.path];
  const reveal = check.reveal && !document.isFromEnvironment(path);
  const sentence = toSentence(fault.error, { reveal, written: document.scalarAt(path) });
  const reading = readingFor(check, fault);
  const isTolerated = reading !== undefined || (sentence.isIgnorable && mode === 'service');
  const severity = isTolerated ? 'warning' : 'error';
  const isShown = reveal && mapOf(fault.error.parentSchema)['x-secret'] !== true;
  const message = reading === undefined ? sentence.message : `${sentence.message}: ${meaningOf(reading, isShown)}`;
  if (sentence.key === undefined) problems.add(document, path, message, { severity });
  else problems.add(document, [...path, sentence.key], message, { severity, atKey: true });
  return severity;
}

function meaningOf({ value, meaning }: Reading, reveal: boolean): string {
  if (meaning !== undefined) return meaning;
  if (value === undefined) return 'taken as if the key were not there';
  return `taken as ${reveal ? JSON.stringify(value) : describeValue(value, false)}`;
}

/**
 * With alternatives ajv reports each branch's errors and then the choice itself. Keeps the errors of the one branch that
 * is evidently intended, else only the choice.
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
