import { silentLogger } from '@nodepool/core';
import { expect, it } from 'vitest';
import { listen } from '../../test/program.js';
import { useWorld } from '../../test/world.js';
import { RemoteLogTail } from './remote-log-tail.js';

const get = useWorld();

it('mentions once that a builder demands a token, however often it is asked', async () => {
  let requests = 0;
  const webUrl = await listen((_, response) => {
    requests++;
    response.writeHead(401, { 'www-authenticate': 'Nodepool-Proof nonce="ab"' }).end();
  });
  await get().register('builder', { webUrl });
  const said: string[] = [];
  let nowMs = 0;
  const source = {
    zk: get().zk,
    clock: { now: () => nowMs, setTimer: () => () => {} },
    logger: { ...silentLogger, warn: (message: string) => void said.push(message) },
  };
  const tail = new RemoteLogTail(source, { build: 'debian-1', token: undefined }, new AbortController().signal);

  for (; nowMs <= 30_000; nowMs += 3_000) expect(await tail.copyNew()).toBe(false);

  expect(requests).toBe(11);
  expect(said).toEqual([`Builder at ${webUrl} demands a token: name a secure file with api-tokens (-s)`]);
});
