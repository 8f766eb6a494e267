import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodepool } from '../../test/program.js';
import { YamlLanguageServer } from '../../test/yaml-language-server.js';

const STATIC_PROVIDER = `labels:
  - name: small
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - name: rack1.example.org
            labels: small
`;

describe('nodepool config-schema in an editor', () => {
  let folder: string;
  let server: YamlLanguageServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'nodepool-schema-'));
    const { status, stdout } = await nodepool('config-schema');
    expect(status).toBe(0);
    const file = join(folder, 'nodepool.schema.json');
    await writeFile(file, stdout);
    server = await YamlLanguageServer.start(pathToFileURL(file).href);
  }, 60_000);
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it('finds nothing wrong with a good file', async () => {
    expect(await server.check(STATIC_PROVIDER)).toEqual([]);
  });

  it.each([
    ['a key that nothing knows', 'webap: {}\n', 0, /webap is not allowed/],
    [
      'a key of another driver',
      STATIC_PROVIDER.replace('nodes:', 'nodes: []\n        cloud-images:'),
      8,
      /cloud-images is not allowed/,
    ],
    [
      'a value of another kind',
      STATIC_PROVIDER.replace('labels: small', 'labels: small\n            timeout: never'),
      10,
      /Expected "integer"/,
    ],
    ['a missing key', STATIC_PROVIDER.replace('            labels: small\n', ''), 8, /Missing property "labels"/],
    [
      'an alternative taken twice',
      'providers: [{name: p, driver: fake, pools: [{name: m, labels: [{name: l, diskimage: i, cloud-image: c, min-ram: 1}]}]}]\n',
      0,
      /one schema|oneOf|multiple/i,
    ],
  ])('marks %s', async (_name, text, line, message) => {
    expect(await server.check(text)).toContainEqual({ line, message: expect.stringMatching(message) as string });
  });

  it('checks only the common keys of a driver that is not installed', async () => {
    const text = 'providers:\n  - name: p\n    driver: rack\n    what-it-likes: 1\n    priority: high\n';

    expect(await server.check(text)).toEqual([
      { line: 4, message: expect.stringMatching(/Expected "integer"/) as string },
    ]);
  });

  it('completes keys of the top level', async () => {
    expect(await server.complete('|')).toEqual(
      expect.arrayContaining(['labels', 'providers', 'zookeeper-servers', 'tenant-resource-limits']),
    );
  });

  it('completes names of installed drivers', async () => {
    expect(await server.complete('providers:\n  - name: p\n    driver: |\n')).toEqual(
      expect.arrayContaining(['static', 'metastatic', 'fake']),
    );
  });

  it('completes the keys of the driver that an entry names, down to the last map', async () => {
    const provider = await server.complete('providers:\n  - name: p\n    driver: fake\n    |\n');
    const host = await server.complete(STATIC_PROVIDER.replace('labels: small\n', 'labels: small\n            |\n'));

    expect(provider).toEqual(expect.arrayContaining(['cloud-settings', 'max-concurrency', 'pools']));
    expect(provider).not.toContain('nodes');
    expect(host).toEqual(expect.arrayContaining(['connection-port', 'host-key', 'max-parallel-jobs']));
    expect(host).not.toContain('ssh-port');
  });

  it('shows description and default of a key', async () => {
    const shown = await server.hover('labels:\n  - name: a\n    min-re|ady: 1\n');
    const limit = await server.hover(STATIC_PROVIDER.replace('nodes:', 'max-ser|vers: 1\n        nodes:'));

    expect(shown).toContain('Free nodes to keep');
    expect(limit).toContain('Ceiling of nodes at a time; 0 switches the pool off. Default: no limit');
  });
});
