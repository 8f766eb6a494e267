import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '@nodepool/zk-protocol';
import { ApiError } from '../api-error.js';

/** Longest body of a call. */
export const MAX_BODY_BYTES = 64 * 1024;
const JSON_TYPE = 'application/json';

/** Reads bodies as JSON. Programs announce types with calls that have no body, such as DELETE: an empty body may have any. */
export function readBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null);
    else void parseJson(request, body.toString(), done);
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, ({ headers }, body, done) => {
    if (body.length === 0) done(null);
    else done(wrongType(headers['content-type']));
  });
}

function wrongType(type: string | undefined): ApiError {
  const found = type === undefined ? 'has no Content-Type' : `has the Content-Type ${JSON.stringify(type)}`;
  return new ApiError(415, 'bad-request', `The body ${found}: send JSON, with the header Content-Type: ${JSON_TYPE}`);
}

/** A number in a text: no other base, no exponent. */
const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * The refusal of a body with a member that the validator would take for another value: `null` for 0 or an empty text, and for a number
 * `true` for 1, and a text that is not plain decimal.
 * @param schema - of the body
 * @returns `undefined` if there is none
 */
export function refusedMember(body: unknown, schema: JsonObject): ApiError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: string }>> };
  for (const [name, value] of Object.entries(body)) {
    if (value === null) return badMember(`"${name}" is null: give it a value, or leave it out`);
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    if ((type === 'number' || type === 'integer') && !isNumber(value)) {
      return badMember(`"${name}" has the wrong type: send ${type === 'integer' ? 'a whole number' : 'a number'}`);
    }
  }
  return undefined;
}

const isNumber = (value: unknown) => typeof value === 'number' || (typeof value === 'string' && DECIMAL.test(value));
const badMember = (text: string) => new ApiError(400, 'bad-request', text);

const TEXTS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: `The body has more than ${MAX_BODY_BYTES} bytes: send a smaller one`,
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON: correct it',
};

/** Why a body could not be read, in words with the fix. @returns `undefined` for other errors */
export function bodyErrorText(code: string | undefined): string | undefined {
  return code === undefined ? undefined : TEXTS[code];
}
