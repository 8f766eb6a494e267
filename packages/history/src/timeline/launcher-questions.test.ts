import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { LauncherQuestions } from './launcher-questions.js';

let asked: (string | undefined)[];
let clock: VirtualClock;
let questions: LauncherQuestions;
const server = createServer(({ url }, response) => {
  asked.push(url);
  if (url?.startsWith('/redirect/') === true) return void response.writeHead(302, { Location: '/elsewhere' }).end();
  response.end(
    JSON.stringify({ launcher: 'nl02', runs: [], more: url?.startsWith('/large/') ? 'x'.repeat(1_500_000) : '' }),
  );
});
let urls: string[];

beforeEach(async () => {
  asked = [];
  clock = new VirtualClock(1_600_000_000_000);
  questions = new LauncherQuestions(clock);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}/`];
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Asks for so many ids at once. @returns how many were refused */
async function askMany(count: number, prefix: string): Promise<number> {
  const answers = Array.from({ length: count }, (_, i) => questions.ask(urls, `${prefix}${i}`));
  const given = answers.filter((answer) => answer !== undefined);
  await Promise.all(given);
  return count - given.length;
}

it('limits the rate at which it asks other launchers', async () => {
  expect(await askMany(100, 'a')).toBe(80);
  expect(asked).toHaveLength(20);

  await clock.advance(3_000);

  expect(await askMany(100, 'b')).toBe(94);
  expect(asked).toHaveLength(26);
});

it('asks once for an id that several clients request at the same time', async () => {
  const [first, second] = await Promise.all([questions.ask(urls, 'a'), questions.ask(urls, 'a')]);

  expect(first).toBe(second);
  expect(first).toEqual([{ url: urls[0], runs: [], error: null }]);
  expect(asked).toEqual(['/api/v1/history/a']);
});

it('is led nowhere else by an address of the registry, which any program can write', async () => {
  const [answer] = (await questions.ask([`${urls[0] ?? ''}redirect`], 'a')) ?? [];

  expect(answer?.error).toContain('redirect (status 302), which is not followed');
  expect(asked).toEqual(['/redirect/api/v1/history/a']);
});

it('reads no more from many launchers than from one, as any program can add an address to the registry', async () => {
  const large = `${urls[0] ?? ''}large`;
  const [alone] = (await questions.ask([large], 'a')) ?? [];
  const [beside] = (await questions.ask([large, ...urls], 'b')) ?? [];

  expect(alone?.error).toBeNull();
  expect(beside?.error).toBe('it is larger than 1048576 bytes');
});

it('asks again after a second', async () => {
  await questions.ask(urls, 'a');

  await clock.advance(1_000);
  await questions.ask(urls, 'a');

  expect(asked).toHaveLength(2);
});

it('answers without a limit when there is no other launcher', async () => {
  urls = [];

  expect(await askMany(100, 'a')).toBe(0);
});
