import { beforeAll, describe, expect, it } from 'vitest';
import { NODES_ROOT } from '@nodepool/zk-protocol';
import { nodepool } from '../../test/program.js';
import { DEAD_PORT, rackYaml, TWO_HOSTS, useWorld } from '../../test/world.js';

const get = useWorld();

beforeAll(() => get().write('rack.yaml', TWO_HOSTS));

/** What another configuration would change. */
const changesFromRack = (config: string, ...options: string[]) =>
  get().nodepool(config, 'plan', '--current', get().file('rack.yaml'), ...options);

describe('nodepool plan', () => {
  it('shows changes of labels, nodes and requests', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();
    const gone = await get().createNode({ hostname: 'host2', labels: ['big'] });
    const hopeless = await get().createRequest(['big']);
    const servable = await get().createRequest(['huge']);
    await get().createRequest(['small']);
    const hosts = ['{name: host1, labels: small}', '{name: host3, labels: huge, max-parallel-jobs: 2}'];
    await get().write('next.yaml', rackYaml(['small', 'huge'], hosts));

    const { status, stdout } = await changesFromRack('next.yaml');
    const json = JSON.parse((await changesFromRack('next.yaml', '--json')).stdout) as object;

    expect(status).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'Labels:',
      '  + huge',
      '  - big',
      '',
      'Providers:',
      '  ~ rack: set up again without an interruption of requests',
      '',
      'Pools:',
      '  ~ rack/main',
      '',
      'Nodes to be registered:',
      '  + 2 on rack/host3 (huge)',
      '',
      'Nodes to be deleted:',
      `  - ${gone} of rack: the host is not configured (host2)`,
      '',
      'Waiting requests that become servable:',
      `  + ${servable} (huge): rack/main`,
      '',
      'Waiting requests that become hopeless:',
      `  - ${hopeless} (big): rack/main: node type(s) [big] not available; no pool has "big"; labels: huge, small`,
      '',
      '3 requests wait; 1 would become servable, 1 hopeless.',
      '',
    ]);
    expect(json).toMatchObject({ requests: { waiting: 3, servable: [{ request: servable }] } });
  });

  it('finds nothing to do for the configuration in force', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();
    await get().createNode({ hostname: 'host2', labels: ['big'] });

    const { stdout } = await changesFromRack('rack.yaml');

    expect(stdout).toBe('Nothing would change (0 requests wait).\n');
  });

  it('shows the effect on nodes of a removed provider', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();
    await get().write('empty.yaml', DEAD_PORT);

    const { stdout, stderr } = await get().nodepool('empty.yaml', 'plan');

    expect(stderr).toContain('compared with the registered pools only');
    expect(stdout).toContain('- rack\n');
    expect(stdout).toContain('! 1 of rack: the provider is removed but its nodes stay');
  });

  it('ends with status 1 and the problems when the configuration is not valid', async () => {
    await get().write('bad.yaml', 'labels:\n  - nam: small\n');

    const { status, stderr } = await get().nodepool('bad.yaml', 'plan');

    expect(status).toBe(1);
    expect(stderr).toMatch(/bad\.yaml:2:\d+: labels\[0\]/);
  });

  it('refuses what services would refuse: a provider in service would lose its driver', async () => {
    const other = '  - {name: other, driver: static, pools: []}\n';
    await get().write(
      'typo.yaml',
      TWO_HOSTS.replace('driver: static', 'driver: statc').replace('providers:\n', `providers:\n${other}`),
    );

    const { status, stderr } = await changesFromRack('typo.yaml');

    expect(status).toBe(1);
    expect(stderr).toMatch(
      /provider "rack" would not be served: driver "statc" .* did you mean "static"\?; it is in service/,
    );
  });

  it('changes nothing in ZooKeeper', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();
    const before = await get().zk.exists('/nodepool');

    await changesFromRack('rack.yaml');
    await get().nodepool('rack.yaml', 'explain', '--label', 'small');

    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(1);
    expect((await get().zk.exists('/nodepool'))?.pzxid).toBe(before?.pzxid);
  });

  it('--offline compares two files where there is no ZooKeeper', async () => {
    const hosts = ['{name: host1, labels: small}', '{name: host3, labels: huge, max-parallel-jobs: 2}'];
    await get().write('other.yaml', rackYaml(['small', 'huge'], hosts));
    const offline = (config: string) =>
      nodepool(
        'plan',
        '--offline',
        '--current',
        get().file('rack.yaml'),
        '-c',
        get().file(config),
        '--state-dir',
        '/none',
      );

    const { status, stdout } = await offline('other.yaml');

    expect(status).toBe(0);
    expect(stdout.split('\n')).toEqual([
      ...['Labels:', '  + huge', '  - big', ''],
      ...['Providers:', '  ~ rack: set up again without an interruption of requests', ''],
      ...['Pools:', '  ~ rack/main', ''],
      ...['Nodes to be registered:', '  + 2 on rack/host3 (huge)', ''],
    ]);
    expect((await offline('rack.yaml')).stdout).toBe('Nothing would change.\n');
  });

  it('--offline needs the configuration in force', async () => {
    expect(await get().nodepool('rack.yaml', 'plan', '--offline')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('plan --offline needs both files') as string,
    });
  });

  it('reports that the configuration in force cannot be read', async () => {
    const missing = get().file('missing.yaml');

    const { status, stderr } = await get().nodepool('rack.yaml', 'plan', '--current', missing);

    expect(status).toBe(1);
    expect(stderr).toMatch(`nodepool: --current: ${missing}: cannot be read: no such file`);
  });
});
