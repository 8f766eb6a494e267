import { expect, it } from 'vitest';
import { readPublicKey } from './public-key.js';

const DATA = 'AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
const truncated = Buffer.from(DATA, 'base64').subarray(0, -3).toString('base64');
const typeOnly = Buffer.from(DATA, 'base64').subarray(0, 15).toString('base64');

it.each([`ssh-ed25519 ${DATA}`, `ssh-ed25519 ${DATA} alice@laptop, of work`])(
  'takes a public key without its comment: %s',
  (line) => {
    expect(readPublicKey(line)).toEqual({ key: `ssh-ed25519 ${DATA}` });
  },
);

it.each([
  ['', /does not begin with a type/],
  [DATA, /does not begin with a type/],
  [`command="id" ssh-ed25519 ${DATA}`, /options are not allowed/],
  [`ssh-ed25519 ${DATA}\nssh-ed25519 ${DATA}`, /more than one line/],
  [`ssh-ed25519 ${DATA}\r`, /control characters/],
  [`ssh-ed25519 ${DATA.slice(0, -1)}`, /no base64/],
  ['ssh-ed25519', /no base64/],
  [`ssh-rsa ${DATA}`, /no key of type ssh-rsa/],
  [`ssh-ed25519 ${truncated}`, /no key of type ssh-ed25519/],
  [`ssh-ed25519 ${typeOnly}`, /no key of type ssh-ed25519/],
  ['ssh-ed25519 AAAA', /no key of type ssh-ed25519/],
  [`ssh-dss ${DATA}`, /does not begin with a type/],
  [`ssh-ed25519 ${DATA} ${'x'.repeat(9_000)}`, /longer than/],
])('refuses what is no public key: %j', (line, problem) => {
  expect(readPublicKey(line).problem).toMatch(problem);
});
