import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLogger } from '@nodepool/core';
import { expect, it, onTestFinished } from 'vitest';
import { asBytes, asJson, askBuilder, type AnswerForm } from './ask-builders.js';

/** Asks a builder that answers like this. @returns what it said, and what the person was told */
async function ask<T>(answer: RequestListener, form: AnswerForm<T>, token?: string) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const told: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void told.push(message.replace(url, 'URL')) };
  return { said: await askBuilder({ logger }, url, '/image-work', form, token), told };
}

it('gives JSON and bytes as they are', async () => {
  expect(await ask((_, response) => response.end('[1]'), asJson)).toEqual({ said: [1], told: [] });
  expect(await ask((_, response) => response.end('log'), asBytes)).toEqual({ said: Buffer.from('log'), told: [] });
});

it('omits a builder without the requested data', async () => {
  expect(await ask((_, response) => response.writeHead(404).end(), asJson)).toEqual({ said: undefined, told: [] });
});

it.each([
  ['Bearer', /^Builder at URL demands a token: it accepts only the token itself/],
  ['Bearer, Nodepool-Proof nonce="ab"', /^Builder at URL demands a token: the first one of api-tokens/],
])('never tells its token to who demands one with %s', async (challenge, message) => {
  const heard: string[] = [];
  const impostor: RequestListener = ({ rawHeaders, url }, response) => {
    heard.push(...rawHeaders, url ?? '');
    response.writeHead(401, { 'www-authenticate': challenge }).end();
  };

  const { said, told } = await ask(impostor, asBytes, 'the-token-of-alice');

  expect(said).toBeUndefined();
  expect(told).toEqual([expect.stringMatching(message)]);
  expect(heard.join('\n')).not.toContain('the-token-of-alice');
});

it('does not read a part of a log without end', async () => {
  const { said, told } = await ask((_, response) => response.end(Buffer.alloc(262_145)), asBytes);

  expect(said).toBeUndefined();
  expect(told).toEqual(['Builder at URL gives no answer that can be read: it is larger than 262144 bytes']);
});

it('does not read JSON without end', async () => {
  const { said, told } = await ask((_, response) => response.end(`["${'x'.repeat(5_000_000)}"]`), asJson);

  expect(said).toBeUndefined();
  expect(told).toEqual(['Builder at URL gives no answer that can be read: it is larger than 4194304 bytes']);
});

it.each<[string, RequestListener, RegExp]>([
  ['a page', (_, response) => response.end('<html>'), /^Builder at URL gives no answer that can be read: .*JSON/],
  ['an error', (_, response) => response.writeHead(502).end(), /^Builder at URL answers with status 502$/],
  [
    'half an answer',
    (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('[1', () => response.destroy()),
    /^Builder at URL gives no answer that can be read: /,
  ],
])('mentions %s in place of an answer, with what is wrong', async (_what, answer, message) => {
  const { said, told } = await ask(answer, asJson);

  expect(said).toBeUndefined();
  expect(told).toEqual([expect.stringMatching(message)]);
});
