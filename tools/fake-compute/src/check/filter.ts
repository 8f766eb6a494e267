import type { JsonObject } from '@nodepool/zk-protocol';
import { ExchangeError } from './exchange-checker.js';

const TERM = /^\(?\s*([A-Za-z][\w.]*)\s*(=|!=|<|>|<=|>=)\s*(?:"([^"]*)"|([\w.:+/-]+))\s*\)?$/;

/**
 * Time fields. Only `=` and `!=` compare these; with another operator the API answers 400.
 * https://github.com/googleapis/google-api-go-client/issues/256
 * https://github.com/googleapis/google-api-python-client/issues/1001
 * https://github.com/ansible-collections/google.cloud/issues/488
 */
const TIMES = new Set(['creationTimestamp', 'insertTime', 'startTime', 'endTime']);

/**
 * Reads a list filter: comparisons joined by `AND`. The fake rejects the rest of the grammar.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/list, parameter `filter`
 * @returns a predicate on resources
 * @throws {ExchangeError} the filter is malformed
 */
export function readFilter(text: string): (resource: JsonObject) => boolean {
  const terms = text.split(/\s+AND\s+/).map((term) => {
    const match = TERM.exec(term);
    if (!match) throw new ExchangeError(`filter "${text}": cannot be read at "${term}"`);
    const [, field = '', operator = '', quoted, bare] = match;
    if (TIMES.has(field) && operator !== '=' && operator !== '!=') {
      throw new ExchangeError(`filter "${text}": "${field}" is a time, which "${operator}" does not compare`);
    }
    return { path: field.split('.'), operator, value: quoted ?? bare ?? '' };
  });
  return (resource) => terms.every(({ path, operator, value }) => compare(textAt(resource, path), operator, value));
}

function textAt(resource: JsonObject, path: readonly string[]): string | undefined {
  let value: unknown = resource;
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

function compare(text: string | undefined, operator: string, value: string): boolean {
  switch (operator) {
    case '=':
      return text === value;
    case '!=':
      return text !== value;
    case '<':
      return text !== undefined && text < value;
    case '>':
      return text !== undefined && text > value;
    case '<=':
      return text !== undefined && text <= value;
    default:
      return text !== undefined && text >= value;
  }
}
