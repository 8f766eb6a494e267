import { describe, expect, it } from 'vitest';
import { ConfigError, silentLogger } from '@nodepool/core';
import type { Config, LogFields, Logger, ProviderConfig } from '@nodepool/core';
import { Reloader, type WebappKey } from './reloader.js';

function config(changes: Partial<Config> = {}): Config {
  return {
    file: '/etc/nodepool/nodepool.yaml',
    zookeeper: { servers: [], tls: undefined, digest: undefined, sessionTimeoutMs: 10_000, embeddedAccess: 'owner' },
    webapp: { port: 8005, listenAddress: '0.0.0.0' },
    builderWebapp: { port: 8006, listenAddress: '127.0.0.1' },
    elementsDir: undefined,
    imagesDir: undefined,
    buildLogDir: '',
    buildLogRetention: 7,
    labels: new Map(),
    diskimages: new Map(),
    providers: new Map(),
    maxHoldAgeMs: 0,
    tenantLimits: new Map(),
    apiTokens: [],
    tokenKeys: [],
    warnings: [],
    ...changes,
  };
}

function harness(load: (signal: AbortSignal) => Promise<Config>, webapp?: WebappKey) {
  const lines: [string, LogFields | undefined][] = [];
  const record = (message: string, fields?: LogFields) => lines.push([message, fields]);
  const logger: Logger = { ...silentLogger, info: record, warn: record, error: record };
  const applied: Config[] = [];
  const initial = config();
  const reloader = new Reloader({
    initial,
    webapp,
    load,
    apply: (next) => {
      applied.push(next);
      return Promise.resolve();
    },
    logger,
    now: () => 5,
  });
  return { reloader, applied, lines, initial };
}

describe('reload', () => {
  it('puts a valid configuration in force', async () => {
    const next = config({ maxHoldAgeMs: 1 });
    const { reloader, applied } = harness(() => Promise.resolve(next));

    await reloader.reload();

    expect(applied).toEqual([next]);
    expect(reloader.config).toBe(next);
    expect(reloader.status).toEqual({ loadedMs: 5, error: undefined, restartNeeded: [] });
  });

  it('refuses a configuration that would leave a provider in service without its driver', async () => {
    const position = { file: '/etc/nodepool/nodepool.yaml', line: 7, column: 11 };
    const problem = { severity: 'warning' as const, position, path: 'providers[0].driver', message: '' };
    const unserved = { name: 'sky', driverName: 'opnstack', reason: 'driver "opnstack" is not installed', problem };
    const left = config({
      providers: new Map(),
      unserved: new Map([['sky', { ...unserved, pools: new Map(), diskimages: new Set<string>() }]]),
    });
    const inService = config({ providers: new Map([['sky', { driverName: 'openstack' } as ProviderConfig]]) });
    const files = [left, inService, left];
    const { reloader, applied } = harness(() => Promise.resolve(files.shift() ?? inService));

    await reloader.reload();
    await reloader.reload();
    await reloader.reload();

    expect(applied).toEqual([left, inService]);
    expect(reloader.config).toBe(inService);
    expect(reloader.status.error).toContain(
      'nodepool.yaml:7:11: providers[0].driver: provider "sky" would not be served',
    );
    expect(reloader.status.publicError).toContain('nodepool.yaml:7:11 providers[0].driver');
  });

  it('says where in which file each warning is', async () => {
    const position = { file: '/etc/nodepool/nodepool.yaml', line: 7, column: 3 };
    const warnings = [{ severity: 'warning' as const, position, path: 'labels[0].x', message: 'unknown key "x"' }];
    const { reloader, lines } = harness(() => Promise.resolve(config({ warnings })));

    await reloader.reload();

    expect(lines).toContainEqual([
      'Configuration warning',
      { path: 'labels[0].x', problem: 'unknown key "x"', file: position.file, line: 7, column: 3 },
    ]);
  });

  it('keeps the old configuration when the new one is not valid, and says why until it is corrected', async () => {
    const answers = [Promise.reject(new Error('nodepool.yaml:3:1: labels: unknown key')), Promise.resolve(config())];
    const { reloader, applied, lines, initial } = harness(() => answers.shift() ?? Promise.resolve(initial));

    await reloader.reload();
    const whileBroken = { config: reloader.config, status: reloader.status };
    await reloader.reload();

    expect(whileBroken.config).toBe(initial);
    expect(whileBroken.status.error).toBe('nodepool.yaml:3:1: labels: unknown key');
    expect(lines[0]?.[0]).toMatch(/old one stays in force/);
    expect(applied).toHaveLength(1);
    expect(reloader.status.error).toBeUndefined();
  });

  it('runs once more, not many times, when asked during a reload', async () => {
    let loads = 0;
    const { reloader } = harness(() => {
      loads += 1;
      return Promise.resolve(config());
    });

    await Promise.all([reloader.reload(), reloader.reload(), reloader.reload()]);

    expect(loads).toBe(2);
  });

  it('gives up a load that hangs as soon as there is something newer, which then decides', async () => {
    const next = config({ maxHoldAgeMs: 1 });
    let loads = 0;
    const hanging = (signal: AbortSignal) =>
      new Promise<Config>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const { reloader, applied } = harness((signal) => (++loads === 1 ? hanging(signal) : Promise.resolve(next)));

    const first = reloader.reload();
    await reloader.reload();
    await first;

    expect(applied).toEqual([next]);
    expect(reloader.status.error).toBeUndefined();
  });

  it('says to everybody that a file cannot be read, and nothing of what files say', async () => {
    const unread = 'nodepool.yaml: cannot be read: no such file';
    const problems = [{ severity: 'error' as const, position: undefined, path: '' }];
    const errors = [unread, 'secret'].map(
      (message) =>
        new ConfigError(
          message,
          problems.map((each) => ({ ...each, message })),
        ),
    );
    const { reloader } = harness(() => Promise.reject(errors.shift() ?? new Error('no more')));
    const told: unknown[] = [];

    for (let count = 0; count < 2; count++) {
      await reloader.reload();
      told.push(reloader.status.publicError);
    }

    expect(told).toEqual([unread, 'not valid, see the log']);
  });

  it('names settings that need a restart', async () => {
    const { zookeeper } = config();
    const servers = [{ host: 'zk1', port: 2181, chroot: undefined }];
    const address = { port: 1, listenAddress: '::' };
    const next = config({ webapp: address, builderWebapp: address, zookeeper: { ...zookeeper, servers } });
    const { reloader, lines } = harness(() => Promise.resolve(next), 'builderWebapp');

    await reloader.reload();

    const settings = lines.map(([, fields]) => fields?.['setting']);
    expect(settings).toEqual(expect.arrayContaining(['builder-webapp', 'zookeeper-servers']));
    expect(settings).not.toContain('webapp');
    expect(reloader.status.restartNeeded).toEqual(['builder-webapp', 'zookeeper-servers']);
  });

  it('changes a web server that keeps its address without a restart', async () => {
    const webapp = { port: 8005, listenAddress: '0.0.0.0', names: ['pool'] };
    const files = { certFile: 'web.pem', keyFile: 'web.key' };
    const answers = [config({ webapp }), config({ webapp: { ...webapp, tls: files } })];
    const { reloader } = harness(() => Promise.resolve(answers.shift() ?? config()), 'webapp');

    await reloader.reload();
    expect(reloader.status.restartNeeded).toEqual([]);
    await reloader.reload();
    expect(reloader.status.restartNeeded).toEqual(['webapp']);
  });

  it('compares settings that need a restart with those of the start, at each reload', async () => {
    const { zookeeper } = config();
    const digest = { user: 'u', password: 'p', protect: false };
    const changed = config({ zookeeper: { ...zookeeper, digest } });
    const answers = [changed, changed, config()];
    const { reloader, lines } = harness(() => Promise.resolve(answers.shift() ?? config()));
    const warnings: unknown[][] = [];

    for (let count = 0; count < 3; count++) {
      lines.length = 0;
      await reloader.reload();
      warnings.push(lines.flatMap(([, fields]) => fields?.['setting'] ?? []));
    }

    expect(warnings).toEqual([['zookeeper-digest'], ['zookeeper-digest'], []]);
    expect(reloader.status.restartNeeded).toEqual([]);
  });
});
