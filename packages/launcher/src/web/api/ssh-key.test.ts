import { expect, it } from 'vitest';
import { sshKeyProblem } from './ssh-key.js';

const DATA = 'AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';

it.each([`ssh-ed25519 ${DATA}`, `ssh-ed25519 ${DATA} alice@laptop, of work`])('is a public key: %s', (key) => {
  expect(sshKeyProblem(key)).toBeUndefined();
});

it.each([
  ['', /does not begin with a type/],
  [DATA, /does not begin with a type/],
  [`command="id" ssh-ed25519 ${DATA}`, /options are not allowed/],
  [`ssh-ed25519 ${DATA}\nssh-ed25519 ${DATA}`, /more than one line/],
  [`ssh-ed25519 ${DATA}\r`, /control characters/],
  [`ssh-ed25519 ${DATA.slice(0, -1)}`, /no base64/],
  ['ssh-ed25519', /no base64/],
  [`ssh-rsa ${DATA}`, /no key of type ssh-rsa/],
  [`ssh-ed25519 ${DATA} ${'x'.repeat(9_000)}`, /longer than/],
])('is no public key: %j', (key, problem) => {
  expect(sshKeyProblem(key)).toMatch(problem);
});
