import { expect, it } from 'vitest';
import { readTrustToken } from './trust-token.js';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

it('reads the name and the fingerprint of the server', () => {
  const token = encode({ client_name: 'ci', fingerprint: 'ab', addresses: ['10.0.0.1:8443'], secret: 's' });

  expect(readTrustToken(token)).toEqual({ clientName: 'ci', fingerprint: 'ab' });
});

it('says that its variable is not set', () => {
  expect(() => readTrustToken('%(TOKEN)')).toThrow('trust-token: the environment variable %(TOKEN) is not set');
});

it('refuses another text without repeating it', () => {
  for (const text of ['hunter2', encode({ secret: 'hunter2' })]) {
    expect(() => readTrustToken(text)).toThrow(/is not a token of "config trust add"/);
    expect(() => readTrustToken(text)).not.toThrow(/hunter2/);
  }
});
