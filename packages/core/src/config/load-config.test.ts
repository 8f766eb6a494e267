import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Clock } from '@nodepool/zk-protocol';
import { tempDir } from '../../test/support/temp-dir.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import { errorLinesOf, loadWritten } from '../../test/support/load-config.js';
import { loadConfig } from './load-config.js';

describe('content of a configuration', () => {
  it('fills an empty map with defaults', async () => {
    const config = await loadWritten({ yaml: '{}' });

    expect(config).toMatchObject({
      zookeeper: { servers: [], tls: undefined, sessionTimeoutMs: 10_000, embeddedAccess: 'owner' },
      webapp: { port: 8005, listenAddress: '0.0.0.0' },
      builderWebapp: { port: 8006, listenAddress: '127.0.0.1' },
      buildLogDir: '/var/log/nodepool/builds',
      buildLogRetention: 7,
      maxHoldAgeMs: 0,
      warnings: [],
    });
  });

  it('finds drivers beside the file by default', async () => {
    const file = join(
      tempDir({ 'nodepool.yaml': 'providers: [{name: sky, driver: acme, pools: []}]' }),
      'nodepool.yaml',
    );

    await expect(loadConfig({ file, mode: 'service' })).rejects.toThrow(
      /driver "acme" is not installed \(searched from/,
    );
  });

  it('reads labels, tenant limits and times in their units', async () => {
    const config = await loadWritten({
      yaml: `
labels: [{name: big, min-ready: -1, max-ready-age: 30}]
max-hold-age: 1:30
tenant-resource-limits: [{tenant-name: t, max-servers: 3, max-volume-gb: 5, floating-ips: 2}]
zookeeper-timeout: 12
`,
    });

    expect(config.labels.get('big')).toEqual({ name: 'big', minReady: -1, maxReadyAgeMs: 30_000 });
    expect(config.maxHoldAgeMs).toBe(90_000);
    expect(config.tenantLimits.get('t')).toEqual({ instances: 3, 'volume-gb': 5, 'floating-ips': 2 });
    expect(config.zookeeper.sessionTimeoutMs).toBe(12_000);
  });

  it('lets the secure file replace ZooKeeper settings and add to the environment of images', async () => {
    const config = await loadWritten({
      yaml: `
zookeeper-servers: [{host: old}]
diskimages:
- {name: base, env-vars: {A: main, B: main}}
- {name: child, parent: base}
`,
      secure: `
zookeeper-servers: [{host: new}]
zookeeper-tls: {cert: c, key: k, ca: a}
diskimages: [{name: base, env-vars: {B: secret}}]
`,
    });

    expect(config.zookeeper.servers).toEqual([{ host: 'new', port: 2281, chroot: undefined }]);
    expect(config.zookeeper.tls).toEqual({ certFile: 'c', keyFile: 'k', caFile: 'a', verifyHostname: true });
    expect(config.diskimages.get('base')?.envVars).toEqual({ A: 'main', B: 'secret' });
    expect(config.diskimages.get('child')?.envVars).toEqual({ A: 'main', B: 'main' });
  });

  it('accepts an empty secure file', async () => {
    await expect(loadWritten({ yaml: 'zookeeper-servers: [{host: localhost}]', secure: '' })).resolves.toMatchObject({
      zookeeper: { servers: [{ host: 'localhost', port: 2181 }] },
    });
  });

  it('converts numeric text to a number if the schema of the driver allows it', async () => {
    const schema = {
      type: 'object',
      properties: { rate: { type: 'number', 'x-numeric-text': true }, hub: { type: 'number' } },
    };
    const drivers = registryOf(plainDriver('rated', { schema }));

    const config = await loadWritten({ yaml: 'providers: [{name: p, driver: rated, rate: "0.5"}]', drivers });

    expect(config.providers.get('p')?.entry['rate']).toBe(0.5);
    for (const wrong of ['rate: fast', 'rate: ""', 'hub: "0.5"']) {
      const yaml = `providers: [{name: p, driver: rated, ${wrong}}]`;
      expect(await errorLinesOf({ yaml, drivers, mode: 'validate' })).toHaveLength(1);
    }
  });

  it('reads true as 1 where an integer is expected', async () => {
    const config = await loadWritten({ yaml: 'labels: [{name: a, min-ready: yes}]' });

    expect(config.labels.get('a')?.minReady).toBe(1);
  });

  it('keeps providers in file order and passes the labels to their driver', async () => {
    const config = await loadWritten({
      yaml: `
labels: [{name: a}]
providers:
- {name: z, driver: plain, pools: [{name: main, labels: [{name: a}]}]}
- {name: b, driver: plain}
`,
    });

    expect([...config.providers.keys()]).toEqual(['z', 'b']);
    expect(config.providers.get('z')?.pools.get('main')?.labels.has('a')).toBe(true);
  });
});

describe('problems of a configuration', () => {
  it('reports all problems at once with their positions, in file order', async () => {
    const yaml = `labels:
- name: a
- min-ready: "3"
webap: {}
max-hold-age: never
`;

    expect(await errorLinesOf({ yaml, mode: 'validate' })).toEqual([
      'nodepool.yaml:3:3: labels[1]: the key "name" is missing',
      'nodepool.yaml:3:14: labels[1].min-ready: expected an integer, got text "3" (write it without quotes)',
      'nodepool.yaml:4:1: webap: unknown key "webap", did you mean "webapp"?',
      'nodepool.yaml:5:15: max-hold-age: expected an integer, got text "never"',
    ]);
  });

  it('only warns of an unknown key in a running service', async () => {
    const config = await loadWritten({ yaml: 'labels: [{name: a, min-redy: 1}]' });

    expect(config.warnings).toEqual([
      expect.objectContaining({
        severity: 'warning',
        path: 'labels[0].min-redy',
        message: 'unknown key "min-redy", did you mean "min-ready"?',
      }),
    ]);
  });

  it.each([
    ...['zookeeper-server', 'zookeeper_servers', 'zookeeperservers', 'zookeper-servers', 'Zookeeper-Servers'],
    ...['zk-servers', 'zk_server', 'zookeeper-hosts', 'zookeeper-host', 'zookeeper'],
  ])('refuses %s in a running service too, in either file', async (key) => {
    const yaml = `labels: []\n${key}: [{host: zk1}]\n`;
    const message =
      `${key}: unknown key "${key}", did you mean "zookeeper-servers"? ` +
      'Without it, services would use the embedded server of this machine';

    expect(await errorLinesOf({ yaml })).toEqual([`nodepool.yaml:2:1: ${message}`]);
    expect(await errorLinesOf({ yaml: '{}', secure: `${key}: [{host: zk1}]` })).toEqual([
      `secure.yaml:1:1: ${message}`,
    ]);
  });

  it('ignores a near miss of zookeeper-servers beside the key itself in a running service', async () => {
    const config = await loadWritten({ yaml: 'zookeeper-servers: [{host: 127.0.0.1}]\nzookeeper-server: []' });

    expect(config.warnings.map(({ path }) => path)).toEqual(['zookeeper-server']);
  });

  it('reports the position in the file even after a substitution', async () => {
    const yaml = 'webapp: {listen_address: "%(NODEPOOL_HOST)", port: x}\nmax-hold-age: %(NODEPOOL_AGE)\n';
    const env = { NODEPOOL_HOST: 'a-very-long-host-name', NODEPOOL_AGE: 'hunter2' };

    expect(await errorLinesOf({ yaml, env })).toEqual([
      'nodepool.yaml:1:52: webapp.port: expected an integer, got text "x"',
      'nodepool.yaml:2:15: max-hold-age: expected an integer, got text',
    ]);
  });

  it('reports the position of a syntax error', async () => {
    const [problem] = await errorLinesOf({ yaml: 'a: [\n' });

    expect(problem).toMatch(/^nodepool\.yaml:2:1: YAML parsing failed: /);
  });

  it('reports each invalid provider and still checks the other ones', async () => {
    const yaml = `labels: [{name: big}]
providers:
- {name: p, driver: nope}
- name: q
  driver: plain
  pools:
  - {name: main, max-server: 1}
  - {name: main, labels: [{name: bg}, {name: big, diskimage: i}, {name: big}]}
- {name: q, driver: plain}
`;

    expect(await errorLinesOf({ yaml, mode: 'validate' })).toEqual([
      'nodepool.yaml:3:21: providers[0].driver: driver "nope" is not installed',
      'nodepool.yaml:7:18: providers[1].pools[0].max-server: unknown key "max-server", did you mean "max-servers"?',
      'nodepool.yaml:8:34: providers[1].pools[1].labels[0].name: label "bg" is not defined, expected a label of the top-level "labels" list, did you mean "big"?',
      'nodepool.yaml:8:62: providers[1].pools[1].labels[1].diskimage: diskimage "i" is not defined, expected an entry of this provider\'s "diskimages" list',
    ]);
  });

  it('explains alternatives by the intended one', async () => {
    const yaml = `labels: [{name: a}]
providers:
- name: q
  driver: plain
  diskimages: [{name: i}]
  cloud-images: [{name: c}]
  pools:
  - {name: m, labels: [{name: a, diskimage: i, cloud-image: c, zones: [1]}]}
  - {name: n, labels: [{name: a, zones: 5}]}
diskimages: [{name: i}]
`;

    expect(await errorLinesOf({ yaml, mode: 'validate' })).toEqual([
      'nodepool.yaml:8:24: providers[0].pools[0].labels[0]: "diskimage" and "cloud-image" exclude each other',
      'nodepool.yaml:8:72: providers[0].pools[0].labels[0].zones[0]: expected text, got the number 1 (put it in quotes)',
      'nodepool.yaml:9:41: providers[0].pools[1].labels[0].zones: expected text or a list, got the number 5',
    ]);
  });

  it('never shows secrets', async () => {
    const yaml = 'providers: [{name: p, driver: plain, password: [s3cret]}]\ndiskimages: [{name: i}]';
    const secure = 'diskimages: [{name: j, env-vars: {A: [s3cret]}}]';

    const problems = await errorLinesOf({ yaml, secure });

    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toContain('s3cret');
  });

  it('reports problems found by drivers at their position', async () => {
    const plain = plainDriver('plain');
    const picky = plainDriver('picky', {
      getProviderConfig(entry, context) {
        context.problem(['pools', 0, 'name'], 'does not please');
        return plain.getProviderConfig(entry, context);
      },
      checkAll: (configs, problem) => configs.forEach(({ name }) => problem(name, ['name'], 'seen by all', 'error')),
    });
    const yaml = 'providers:\n- name: p\n  driver: picky\n  pools: [{name: m}]\n';

    expect(await errorLinesOf({ yaml, drivers: registryOf(picky) })).toEqual([
      'nodepool.yaml:2:9: providers[0].name: seen by all',
      'nodepool.yaml:4:18: providers[0].pools[0].name: does not please',
    ]);
  });

  it('survives a driver that returns nonsense, or throws when it compares its entries', async () => {
    const nonsense = plainDriver('nonsense', { getProviderConfig: () => 'x' as unknown as ProviderConfig });
    const quarrels = plainDriver('quarrels', {
      checkAll: () => {
        throw new Error('x is undefined');
      },
    });
    const yaml = `
providers:
  - {name: a, driver: nonsense}
  - {name: b, driver: quarrels}
`;

    expect(await errorLinesOf({ yaml, drivers: registryOf(nonsense, quarrels) })).toEqual([
      expect.stringContaining('driver "quarrels" cannot check its entries: x is undefined'),
      expect.stringContaining(
        'cannot read this entry: getProviderConfig returned no configuration with a name and pools',
      ),
    ]);
  });

  it('survives a driver that throws', async () => {
    const broken = plainDriver('broken', {
      getProviderConfig: () => {
        throw new TypeError('x is undefined');
      },
    });

    expect(await errorLinesOf({ yaml: 'providers: [{name: p, driver: broken}]', drivers: registryOf(broken) })).toEqual(
      ['nodepool.yaml:1:13: providers[0]: driver "broken" cannot read this entry: x is undefined'],
    );
  });
});

describe('a file that is missing', () => {
  it('is read three times at intervals of half a second', async () => {
    const pauses: number[] = [];
    const clock: Clock = {
      now: () => 0,
      setTimer(ms, fn) {
        pauses.push(ms);
        queueMicrotask(fn);
        return () => {};
      },
    };
    const file = join(tempDir(), 'nodepool.yaml');

    const loading = loadConfig({ file, env: {}, drivers: registryOf(), mode: 'service', clock });

    await expect(loading).rejects.toMatchObject({ code: 'NODEPOOL_CONFIG' });
    expect(pauses).toEqual([500, 500]);
  });
});

it('reads files by another way than the disk', async () => {
  const files = new Map([
    ['main', 'max-hold-age: 7'],
    ['secure', 'api-tokens: [{name: ops, token: 0123456789abcdef0123456789abcdef}]'],
  ]);
  const read = (file: string) => Promise.resolve(Buffer.from(files.get(file) ?? ''));

  const config = await loadConfig({ file: 'main', secureFile: 'secure', drivers: registryOf(), mode: 'service', read });

  expect([config.maxHoldAgeMs, config.apiTokens.map(({ name }) => name)]).toEqual([7_000, ['ops']]);
});

it('stops waiting for a driver on abort', async () => {
  const abort = new AbortController();
  const drivers = registryOf();
  const asked = new Promise<void>((resolve) => {
    drivers.get = () => {
      resolve();
      return new Promise(() => undefined);
    };
  });
  const file = join(tempDir({ 'nodepool.yaml': 'providers: [{name: p, driver: hung}]' }), 'nodepool.yaml');

  const loading = loadConfig({ file, env: {}, drivers, mode: 'service', signal: abort.signal });
  void asked.then(() => abort.abort(new Error('there is a newer file')));

  await expect(loading).rejects.toThrow('there is a newer file');
});
