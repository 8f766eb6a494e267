import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bodyErrorText, nullMember, readBodies } from './request-body.js';

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

it('names a member that is null', () => {
  expect(nullMember({ labels: ['small'], ttl: null })).toMatchObject({
    ...{ status: 400, message: '"ttl" is null: give it a value, or leave it out' },
  });
  for (const body of [undefined, null, {}, { ttl: 0 }]) expect(nullMember(body)).toBeUndefined();
});

it('says what is wrong with a body that cannot be read', () => {
  expect(bodyErrorText('FST_ERR_CTP_BODY_TOO_LARGE')).toBe('The body has more than 65536 bytes: send a smaller one');
  expect(bodyErrorText('FST_ERR_VALIDATION')).toBeUndefined();
  expect(bodyErrorText(undefined)).toBeUndefined();
});
