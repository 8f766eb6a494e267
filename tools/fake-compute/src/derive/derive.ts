import type { JsonObject } from '@nodepool/zk-protocol';
import type { ComputeDescription, ComputeMethod } from '../description/description.js';

/** A message in `protos.json`, in the format of protobufjs. */
export interface ProtoMessage {
  readonly fields?: Readonly<Record<string, ProtoField>>;
  readonly nested?: Readonly<Record<string, { readonly values?: Readonly<Record<string, number>> }>>;
}

/** A field of a message. */
export interface ProtoField {
  readonly type: string;
  readonly rule?: string;
  readonly keyType?: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A service: its methods by name. */
export interface ProtoService {
  readonly methods: Readonly<Record<string, ProtoMethod>>;
}

/** A method with its place in the REST API. */
export interface ProtoMethod {
  readonly requestType: string;
  readonly responseType: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Messages and services of one version of the API. */
export type ProtoPackage = Readonly<Record<string, ProtoMessage | ProtoService>>;

const VERBS = ['get', 'post', 'put', 'patch', 'delete'];

/** JSON types of values; 64-bit integers are strings, as a number cannot hold them. */
const SCALARS: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  bytes: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer' },
  uint32: { type: 'integer', minimum: 0 },
  int64: { type: 'string', pattern: '^-?[0-9]+$' },
  uint64: { type: 'string', pattern: '^[0-9]+$' },
  double: { type: 'number' },
  float: { type: 'number' },
  'google.protobuf.Any': { type: 'object' },
};

/**
 * Extracts methods from the description, with all messages that they need.
 * @param wanted - e.g. `Instances.Insert`
 * @param further - parameters that the description lacks, by method
 * @throws {Error} a method does not exist
 */
export function derive(
  protos: ProtoPackage,
  wanted: readonly string[],
  source: string,
  further: Readonly<Record<string, JsonObject>> = {},
): ComputeDescription {
  const definitions = new Map<string, JsonObject>();
  const methods = wanted.map((name) => {
    const method = describeMethod(protos, name, definitions);
    return { ...method, query: { ...method.query, ...further[name] } };
  });
  const sorted = [...definitions].sort(([one], [other]) => (one < other ? -1 : 1));
  return { source, methods, definitions: Object.fromEntries(sorted) };
}

function describeMethod(protos: ProtoPackage, name: string, definitions: Map<string, JsonObject>): ComputeMethod {
  const [serviceName = '', methodName = ''] = name.split('.');
  const service = protos[serviceName];
  const method = service && 'methods' in service ? service.methods[methodName] : undefined;
  if (!method) throw new Error(`the description has no method ${name}`);
  const { options = {}, requestType, responseType } = method;
  const verb = VERBS.find((one) => typeof options[`(google.api.http).${one}`] === 'string');
  if (verb === undefined) throw new Error(`method ${name} has no place in the REST API`);
  const path = options[`(google.api.http).${verb}`] as string;
  const request = messageOf(protos, requestType);
  const body = request.fields?.[camelCase(textOf(options['(google.api.http).body']))]?.type;
  for (const message of [body, responseType]) if (message !== undefined) define(protos, message, definitions);
  const query = Object.entries(request.fields ?? {}).filter(
    ([field, { type }]) => type !== body && !path.includes(`{${snakeCase(field)}}`),
  );
  return {
    name,
    verb: verb.toUpperCase(),
    path,
    query: Object.fromEntries(query.map(([field, type]) => [field, schemaOfField(field, type, request)])),
    ...(body !== undefined && { body }),
    response: responseType,
  };
}

function define(protos: ProtoPackage, name: string, definitions: Map<string, JsonObject>): void {
  if (definitions.has(name)) return;
  const message = messageOf(protos, name);
  definitions.set(name, {}); // messages may contain themselves
  const properties: JsonObject = {};
  for (const [field, described] of Object.entries(message.fields ?? {})) {
    if (!(described.type in SCALARS) && !enumOf(field, described.type, message)) {
      define(protos, described.type, definitions);
    }
    properties[field] = schemaOfField(field, described, message);
  }
  definitions.set(name, { type: 'object', additionalProperties: false, properties });
}

function schemaOfField(name: string, { type, rule, keyType }: ProtoField, message: ProtoMessage): JsonObject {
  const one = schemaOfValue(name, type, message);
  if (rule === 'repeated') return { type: 'array', items: one };
  return keyType === undefined ? one : { type: 'object', additionalProperties: one };
}

function schemaOfValue(name: string, type: string, message: ProtoMessage): JsonObject {
  const values = enumOf(name, type, message);
  if (values) return { enum: Object.keys(values).filter((value) => !value.startsWith('UNDEFINED_')) };
  return SCALARS[type] ?? { $ref: `#/definitions/${type}` };
}

/**
 * Values of an enumeration field. Most enumerations have the type string, and their values are in a nested type named after
 * the field. Some fields have that type directly; it takes precedence over a message of the same name.
 */
function enumOf(
  name: string,
  type: string,
  { nested = {} }: ProtoMessage,
): Readonly<Record<string, number>> | undefined {
  if (type === 'string') return nested[`${name.charAt(0).toUpperCase()}${name.slice(1)}`]?.values;
  return nested[type]?.values;
}

function messageOf(protos: ProtoPackage, name: string): ProtoMessage {
  const message = protos[name];
  if (!message || 'methods' in message) throw new Error(`the description has no message ${name}`);
  return message;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function camelCase(snake: string): string {
  return snake.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

function snakeCase(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
