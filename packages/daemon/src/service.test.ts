import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type Config, type LogFields, type Logger } from '@nodepool/core';
import { ConditionList } from '@nodepool/core/service';
import { makeSelfSigned } from '@nodepool/test-servers';
import { systemClock, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import type { WebTls } from '@nodepool/core/config';
import type { DaemonRuntime } from './runtime.js';
import { DaemonService } from './service.js';

let server: MemoryServer;
let service: DaemonService;
let calls: string[];
let logged: [string, LogFields | undefined][];
let drained: () => Promise<void>;
let ordersEnded: () => Promise<void>;
let notReady: string[];

const logger: Logger = {
  ...silentLogger,
  debug: (message, fields) => void logged.push([message, fields]),
  info: (message, fields) => void logged.push([message, fields]),
  error: (message, fields) => void logged.push([message, fields]),
  child: () => logger,
};
const config = (host: string, tls?: WebTls): Config =>
  ({
    ...{ file: 'nodepool.yaml', zookeeper: { servers: [] }, providers: new Map(), warnings: [], apiTokens: [] },
    ...{ webapp: { listenAddress: host, port: 0, tls } },
  }) as unknown as Config;

interface Made {
  readonly host?: string;
  readonly tls?: WebTls;
  readonly zk?: ZooKeeper;
  readonly clock?: Clock;
}

function make({ host = '127.0.0.1', tls, zk = connectInMemory(server).zk, clock = systemClock }: Made = {}) {
  const runtime: DaemonRuntime = {
    start: (url) => Promise.resolve(void calls.push(`start ${url}`)),
    reconfigure: () => Promise.resolve(void calls.push('reconfigure')),
    get notReady() {
      return notReady;
    },
    async drain(deadlineMs) {
      calls.push(`drain ${deadlineMs}`);
      await drained();
    },
    endOrders: async () => {
      calls.push('end orders');
      await ordersEnded();
    },
    stop: () => Promise.resolve(void calls.push('stop')),
    startedFields: () => ({ providers: 2 }),
    conditions: { find: () => [], publish: () => {}, ofOthers: [], onConcern: () => () => {} },
    health: () => ({ pools: 1 }),
    dump: () => ['state of the runtime'],
    routes: () => new Map(),
    api: () => ({ operations: [], schemas: {}, overview: () => ({}), subscribe: () => () => {} }),
  };
  return new DaemonService({
    ...{ name: 'nodepool-test', config: config(host, tls), runtime, clock, logger, zk, version: '1.2.3' },
    ...{ hostname: 'nt01.example.com', webapp: 'webapp', embedded: undefined, profileDirs: [] },
    metrics: {
      contentType: 'text/plain',
      render: () => Promise.resolve('metric 1\n'),
      showConditions: (list) => expect(list).toBeInstanceOf(ConditionList),
      close: () => Promise.resolve(void calls.push('close metrics')),
    },
    loadConfig: () => Promise.resolve(config(host, tls)),
    applyConfig: () => Promise.resolve(void calls.push('apply')),
  });
}

beforeEach(() => {
  server = new MemoryServer(systemClock);
  [calls, logged, notReady] = [[], [], ['provider sky']];
  drained = () => Promise.resolve();
  ordersEnded = () => Promise.resolve();
  service = make();
});
afterEach(() => service.stop(1_000));

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${service.web?.port}${path}`);
  return `${response.status} ${await response.text()}`;
};

it('answers while it starts, and is ready when its runtime is', async () => {
  await service.listen();

  expect(await get('/ready')).toBe('500 Not ready: provider sky\n');
  await service.start();
  notReady = [];
  expect(await get('/ready')).toBe('200 OK');
  expect(await get('/metrics')).toBe('200 metric 1\n');
  expect(calls).toEqual([`start http://127.0.0.1:${service.web?.port}`]);
  expect(logged).toContainEqual(['Service started', expect.objectContaining({ providers: 2 })]);
});

it('announces its host name if it listens on all addresses', async () => {
  service = make({ host: '0.0.0.0' });
  expect(service.webUrl).toBeUndefined();
  await service.listen();

  expect(service.webUrl).toBe(`http://nt01.example.com:${service.web?.port}`);
});

it('applies a reloaded configuration to the connection before the runtime', async () => {
  await service.reload();

  expect(calls).toEqual(['apply', 'reconfigure']);
});

it('serves HTTPS, and uses a new certificate after a reload; a broken one changes nothing and is logged', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-service-'));
  const [one, two] = await Promise.all([makeSelfSigned(dir, 'one'), makeSelfSigned(dir, 'two')]);
  const files = { certFile: join(dir, 'web.pem'), keyFile: join(dir, 'web.key') };
  await copyFile(one.cert, files.certFile);
  await copyFile(one.key, files.keyFile);
  const served = async () => {
    const socket = connectTls({ host: '127.0.0.1', port: service.web?.port, rejectUnauthorized: false });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };
  service = make({ tls: files });
  await service.listen();

  expect([service.webUrl, service.moreFiles]).toEqual([`https://127.0.0.1:${service.web?.port}`, Object.values(files)]);
  expect(await served()).toBe('one');
  await copyFile(two.cert, files.certFile);
  await service.reload();
  expect([await served(), calls]).toEqual(['one', []]);
  expect(logged).toContainEqual([
    'New configuration is invalid; the old one stays in force',
    {
      error: expect.objectContaining({
        message: expect.stringContaining('web.key is not the key of') as string,
      }) as Error,
    },
  ]);
  await copyFile(two.key, files.keyFile);
  await service.reload();
  expect(await served()).toBe('two');
  await rm(dir, { recursive: true });
});

describe('a stop', () => {
  it('is not ready while it drains, and reserves time for closing', async () => {
    await service.listen();
    notReady = [];
    let ready = '';
    drained = async () => void (ready = await get('/ready'));
    await service.stop(10_000);

    expect(ready).toBe('500 Not ready: stopping\n');
    expect(calls).toEqual(['drain 8500', 'end orders', 'stop', 'close metrics']);
    expect([service.stopping, service.web]).toEqual([true, undefined]);
  });

  it('lets orders in clouds end before it leaves its work to others, and drains nothing', async () => {
    ordersEnded = () => Promise.resolve(void calls.push('orders have ended'));
    await service.handOver();

    expect(calls).toEqual(['end orders', 'orders have ended', 'close metrics', 'stop']);
  });

  it.each([
    ['leaves its session to expire when an order has not ended in a cloud', false],
    ['ends its session when all have', true],
  ])('%s, as a successor would repeat it', async (_what, haveEnded) => {
    const [{ zk }, other] = [connectInMemory(server), connectInMemory(server).zk];
    service = make({ zk, clock: { ...systemClock, setTimer: (_ms, fn) => systemClock.setTimer(0, fn) } });
    await zk.create('/lock', '', { ephemeral: true });
    if (!haveEnded) ordersEnded = () => new Promise(() => undefined);
    await service.handOver();

    expect([zk.state, (await other.exists('/lock')) !== undefined]).toEqual(['CLOSED', !haveEnded]);
  });

  it('closes everything even if draining fails', async () => {
    drained = () => Promise.reject(new Error('no answer'));
    await service.stop(0);

    expect(calls).toEqual(['drain 0', 'close metrics']);
    expect(logged.map(([message]) => message)).toContain('Service stopped');
  });
});

it('writes its state to the debug log, and reports a profile that cannot be written', async () => {
  await service.dump();
  await service.dump();

  const messages = logged.map(([message]) => message);
  expect(messages).toContain('state of the runtime');
  expect(messages.filter((message) => message.includes('CPU profile'))).toEqual([
    'State is in the debug log; CPU profile started, the next SIGUSR2 writes it',
    'CPU profile failed',
  ]);
});
