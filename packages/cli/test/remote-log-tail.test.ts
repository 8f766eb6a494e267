import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { silentLogger } from '@nodepool/core';
import { componentCreatePath, componentsPath, encodeComponent, newComponent } from '@nodepool/zk-protocol';
import { expect, it, onTestFinished } from 'vitest';
import { RemoteLogTail } from '../src/images/remote-log-tail.js';
import { useInstallation } from './installation.js';

const get = useInstallation();

it('mentions once that a builder demands a token, however often it is asked', async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    response.writeHead(401, { 'www-authenticate': 'Nodepool-Proof nonce="ab"' }).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const webUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const component = newComponent({ kind: 'builder', hostname: hostname(), state: 'running', version: '1.0' });
  await get().zk.ensurePath(componentsPath('builder'));
  const path = componentCreatePath('builder', hostname());
  await get().zk.create(path, encodeComponent({ ...component, webUrl }), { sequential: true });
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
