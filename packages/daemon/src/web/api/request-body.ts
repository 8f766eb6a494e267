import type { FastifyInstance } from 'fastify';
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

/**
 * The refusal of a body with a member that is `null`: the validator would take it for 0, or for an empty text.
 * @returns `undefined` if there is none
 */
export function nullMember(body: unknown): ApiError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const name = Object.entries(body).find(([, value]) => value === null)?.[0];
  if (name === undefined) return undefined;
  return new ApiError(400, 'bad-request', `"${name}" is null: give it a value, or leave it out`);
}

const TEXTS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: `The body has more than ${MAX_BODY_BYTES} bytes: send a smaller one`,
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON: correct it',
};

/** Why a body could not be read, in words with the fix. @returns `undefined` for other errors */
export function bodyErrorText(code: string | undefined): string | undefined {
  return code === undefined ? undefined : TEXTS[code];
}
