import { expect, it } from 'vitest';
import { tokenProof } from '@nodepool/core/service';
import { hasProof, proofChallenge } from './proof.js';

const TOKEN = 'the-token-of-alice';
const tokens = [
  { name: 'bob', token: 'the-token-of-bob' },
  { name: 'alice', token: TOKEN },
];
const target = '/image-log?build=debian-1&offset=0';
const nonce = /nonce="(\w+)"/.exec(proofChallenge(0))?.[1] ?? '';
const header = `Nodepool-Proof ${tokenProof(TOKEN, nonce, target)}`;

it('takes the proof of a token for what was asked with it, for a minute at least', () => {
  expect(hasProof(header, { target, tokens, nowMs: 0 })).toBe(true);
  expect(hasProof(header, { target, tokens, nowMs: 60_000 })).toBe(true);
});

it.each([
  ['late', header, target, 120_000],
  ['for something else', header, '/image-log?build=debian-2&offset=0', 0],
  ['of a wrong token', `Nodepool-Proof ${tokenProof('guessed', nonce, target)}`, target, 0],
  ['with a nonce of its own', `Nodepool-Proof ${tokenProof(TOKEN, 'mine', target)}`, target, 0],
  ['that is none', 'Nodepool-Proof 00', target, 0],
  ['that is missing', undefined, target, 0],
])('refuses a proof %s', (_, given, asked, nowMs) => {
  expect(hasProof(given, { target: asked, tokens, nowMs })).toBe(false);
});
