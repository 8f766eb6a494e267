import type { JsonObject } from '@nodepool/zk-protocol';
import type { ComputeDescription } from '../description/description.js';
import { ExchangeError } from './exchange-checker.js';

/** Requested fields with their requested subfields; an empty map requests all. `*` matches any key of a map. */
type Mask = Map<string, Mask>;

const NAME = /^([A-Za-z0-9_]+|\*)/;

/**
 * Reads a partial-response mask such as `items(name,disks/source),nextPageToken` and checks it against the message.
 * https://cloud.google.com/compute/docs/api/how-tos/performance#partial-response
 * @returns a function that reduces a response to these fields
 * @throws {ExchangeError} the mask is malformed or names an unknown field
 */
export function readMask(
  text: string,
  message: string,
  definitions: ComputeDescription['definitions'],
): (body: JsonObject) => JsonObject {
  const rest = { text };
  const mask = readList(rest);
  if (rest.text !== '') throw new ExchangeError(`fields=${text}: cannot be read from "${rest.text}" on`);
  checkMask(mask, { $ref: `#/definitions/${message}` }, definitions, text);
  return (body) => cut(body, mask) as JsonObject;
}

function readList(rest: { text: string }): Mask {
  const mask: Mask = new Map();
  do {
    const name = NAME.exec(rest.text)?.[0];
    if (name === undefined) throw new ExchangeError(`fields: a name is missing before "${rest.text}"`);
    rest.text = rest.text.slice(name.length);
    mask.set(name, readBelow(rest));
  } while (take(rest, ','));
  return mask;
}

function readBelow(rest: { text: string }): Mask {
  if (take(rest, '(')) {
    const below = readList(rest);
    if (!take(rest, ')')) throw new ExchangeError('fields: a parenthesis is not closed');
    return below;
  }
  if (!take(rest, '/')) return new Map();
  const name = NAME.exec(rest.text)?.[0] ?? '';
  rest.text = rest.text.slice(name.length);
  return new Map([[name, readBelow(rest)]]);
}

function take(rest: { text: string }, sign: string): boolean {
  if (!rest.text.startsWith(sign)) return false;
  rest.text = rest.text.slice(sign.length);
  return true;
}

function checkMask(mask: Mask, schema: JsonObject, definitions: JsonObject, text: string): void {
  const { $ref, items, properties, additionalProperties } = schema as {
    $ref?: string;
    items?: JsonObject;
    properties?: JsonObject;
    additionalProperties?: JsonObject | false;
  };
  if (typeof $ref === 'string') {
    checkMask(mask, definitions[$ref.replace('#/definitions/', '')] as JsonObject, definitions, text);
  } else if (items !== undefined) {
    checkMask(mask, items, definitions, text);
  } else {
    for (const [name, below] of mask) {
      const field = name === '*' ? additionalProperties : (properties?.[name] as JsonObject | undefined);
      if (!field) throw new ExchangeError(`fields=${text}: there is no field "${name}"`);
      checkMask(below, field, definitions, text);
    }
  }
}

function cut(value: unknown, mask: Mask): unknown {
  if (mask.size === 0) return value;
  if (Array.isArray(value)) return value.map((one) => cut(one, mask));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as JsonObject).flatMap(([name, field]) => {
    const below = mask.get(name) ?? mask.get('*');
    return below ? [[name, cut(field, below)] as const] : [];
  });
  return Object.fromEntries(fields);
}
