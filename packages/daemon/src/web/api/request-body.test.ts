import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bodyErrorText, refusedMember, readBodies } from './request-body.js';

let app: FastifyInstance;

beforeEach(() => {
  app = fastify();
  readBodies(app);
  app.setErrorHandler(({ message }: Error) => ({ message }));
  app.post<{ Body: unknown }>('/', ({ body }) => ({ body: body ?? null }));
});
afterEach(() => app.close());

async function post(type: string | undefined, payload?: string) {
  const answer = await app.inject({
    ...{ method: 'POST', url: '/', headers: type === undefined ? {} : { 'content-type': type } },
    ...(payload !== undefined && { payload }),
  });
  return answer.json<{ body?: unknown; message?: string }>();
}

it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', undefined])(
  'takes an empty body of the type %s',
  async (type) => {
    expect(await post(type, '')).toEqual({ body: null });
    expect(await post(type)).toEqual({ body: null });
  },
);

it('reads JSON only, and says how to send it', async () => {
  expect(await post('application/json; charset=utf-8', '{"ttl": 5}')).toEqual({ body: { ttl: 5 } });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const message = `The body has the Content-Type "${type}": send JSON, with the header Content-Type: application/json`;
    expect(await post(type, '{"ttl": 5}')).toEqual({ message });
  }
});

const SCHEMA = { type: 'object', properties: { ttl: { type: 'number' }, priority: { type: 'integer' }, labels: {} } };

it('names a member that is null', () => {
  expect(refusedMember({ labels: ['small'], ttl: null }, SCHEMA)).toMatchObject({
    ...{ status: 400, message: '"ttl" is null: give it a value, or leave it out' },
  });
  for (const body of [undefined, null, {}, { ttl: 0 }]) expect(refusedMember(body, SCHEMA)).toBeUndefined();
});

it.each([true, false, '0x10', '1e2', '', ' 5', '5 ', 'Infinity', '.5', '+5', '1_0', ['5']])(
  'takes %j for no number',
  (ttl) => {
    const message = '"ttl" has the wrong type: send a number';

    expect(refusedMember({ ttl }, SCHEMA)).toMatchObject({ status: 400, code: 'bad-request', message });
  },
);

it('takes a decimal text for a number, and any value for what is none', () => {
  for (const ttl of ['300', '0.5', '-1', 1e2]) expect(refusedMember({ ttl }, SCHEMA)).toBeUndefined();
  expect(refusedMember({ labels: true, unknown: true, toString: true }, SCHEMA)).toBeUndefined();
  expect(refusedMember({ priority: '0x10' }, SCHEMA)).toMatchObject({
    message: '"priority" has the wrong type: send a whole number',
  });
});

it('says what is wrong with a body that cannot be read', () => {
  expect(bodyErrorText('FST_ERR_CTP_BODY_TOO_LARGE')).toBe('The body has more than 65536 bytes: send a smaller one');
  expect(bodyErrorText('FST_ERR_VALIDATION')).toBeUndefined();
  expect(bodyErrorText(undefined)).toBeUndefined();
});
