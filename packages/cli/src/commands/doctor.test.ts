import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, createServer as createSocketServer, type AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { embeddedDataDir, embeddedSocket, writeEmbeddedServerInfo } from '@nodepool/core/config';
import type { LauncherId } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { nodepool } from '../../test/program.js';
import { condition, rackYaml, TWO_HOSTS, useWorld } from '../../test/world.js';

const get = useWorld();
const HOUR = 3_600_000;

beforeAll(async () => {
  await get().write('rack.yaml', TWO_HOSTS);
  await get().write('secure.yaml', '{}\n');
});

/** What doctor finds, and with which status it ends. */
async function doctor(config: string, ...options: string[]) {
  const { status, stdout } = await get().nodepool(config, 'doctor', '--json', ...options);
  const findings = JSON.parse(stdout) as Record<'severity' | 'text' | 'remedy' | 'type' | 'status', string>[];
  // how fast the answers are depends on what else this machine does
  return { status, findings: findings.filter(({ type }) => type !== 'SlowAnswers') };
}

describe('nodepool doctor', () => {
  it('finds nothing wrong where nothing is', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();

    const { status, stdout } = await get().nodepool('rack.yaml', 'doctor');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^(Nothing is wrong\.\n|warning: zookeeper "ensemble": ZooKeeper takes \d+ ms.*\n.*\n)$/);
  });

  // Ends: NoLauncher NotRegistered
  it('reports that no launcher runs, until one does', async () => {
    const { status, findings } = await doctor('rack.yaml');
    await get().registerRack(['small', 'big']);

    expect(status).toBe(1);
    expect(findings).toMatchObject([
      {
        severity: 'error',
        text: 'launcher "any": no launcher is registered: requests are not served',
        remedy: 'nodepool-launcher',
      },
    ]);
    expect(await doctor('rack.yaml')).toEqual({ status: 0, findings: [] });
  });

  it('shows conditions published by services once each, the worst first', async () => {
    await get().registerRack(['small', 'big']);
    const stuck = condition('DeletionFails', '0000000007', 'its deletion has failed 3 times: no');
    const missing = condition('StandbyMissing', 'small', 'it has 0 of 2 standby nodes, and 1 are being made');
    await get().register('launcher', { conditions: [missing, stuck] });
    await get().register('launcher', { conditions: [missing] });

    const { status, findings } = await doctor('rack.yaml');

    expect(status).toBe(1);
    expect(findings).toMatchObject([
      { severity: 'error', text: 'node 0000000007: its deletion has failed 3 times: no', remedy: 'repair it' },
      {
        severity: 'warning',
        text: 'label "small": it has 0 of 2 standby nodes, and 1 are being made',
        type: 'StandbyMissing',
      },
    ]);
  });

  it('names what follows from a cause in one line under it, and each by itself as JSON', async () => {
    await get().registerRack(['small', 'big']);
    const refused = { ...condition('LoginRefused', 'rack', '401'), reason: 'Unauthorized' };
    const failing = { ...condition('LaunchesFail', 'rack', '4 launches in a row failed: 401'), reason: 'Unauthorized' };
    const unserved = {
      ...{ ...condition('NotServed', 'small', 'no pool can serve it now'), reason: 'ProviderFails' },
      evidence: { onlyProvider: 'rack' },
    };
    await get().register('launcher', { conditions: [failing, refused, unserved] });

    const { stdout } = await get().nodepool('rack.yaml', 'doctor');
    const { findings } = await doctor('rack.yaml');

    expect(stdout.match(/^(error|warning): (?!zookeeper)/gm)).toEqual(['error: ']);
    expect(stdout).toContain(
      'error: provider "rack": 401\n  repair it\n  with it ends: provider rack LaunchesFail, label small NotServed\n',
    );
    expect(findings.map(({ type }) => type)).toEqual(['LaunchesFail', 'LoginRefused', 'NotServed']);
  });

  it('ends with status 0 when there are warnings only', async () => {
    await get().registerRack(['small', 'big']);
    await get().register('launcher', {
      conditions: [condition('StandbyMissing', 'small', 'it has 0 of 2 standby nodes')],
    });

    const { status, stdout } = await get().nodepool('rack.yaml', 'doctor');

    expect(status).toBe(0);
    expect(stdout).toContain('warning: label "small": it has 0 of 2 standby nodes\n  repair it\n');
  });

  // Ends: NotRegistered NoPool
  it('names providers of the configuration that no launcher has registered, until one has', async () => {
    await get().register('launcher', {});

    const { findings } = await doctor('rack.yaml');
    await get().registerRack(['small', 'big']); // as a launcher does that has loaded the same file

    expect(findings).toMatchObject([{ kind: 'provider', name: 'rack', type: 'NotRegistered' }]);
    expect(await doctor('rack.yaml')).toEqual({ status: 0, findings: [] });
  });

  // Ends: ConfigurationProblem Invalid
  it.each([
    ['is no YAML', 'labels: [\n', /broken\.yaml:\d+:\d+/],
    ['has a wrong value', 'labels: []\nmax-hold-age: never\n', /max-hold-age/],
  ])(
    'says that its own file %s until it is corrected, and shows what services have published',
    async (_what, text, named) => {
      await get().registerRack(['small', 'big']);
      await get().register('launcher', { conditions: [condition('StandbyMissing', 'small', 'it has none')] });
      await get().write('broken.yaml', text);

      const { status, findings } = await doctor('broken.yaml');

      expect(status).toBe(1);
      expect(findings.map(({ severity, type }) => `${severity} ${type}`)).toEqual([
        'error ConfigurationProblem',
        'warning StandbyMissing',
      ]);
      expect(findings[0]?.text).toMatch(named);
      await get().write('broken.yaml', TWO_HOSTS);
      expect((await doctor('broken.yaml')).findings.map(({ type }) => type)).toEqual(['StandbyMissing']);
    },
  );

  it('says that the servers of ZooKeeper are not known while they cannot be read', async () => {
    await get().write('broken.yaml', 'labels: [\n');

    const { stdout } = await nodepool('-c', get().file('broken.yaml'), '--state-dir', get().file('none'), 'doctor');

    expect(stdout).toMatch(/^error: configuration ".*broken\.yaml:/);
    expect(stdout).toContain('The servers are not known, as the configuration is broken.');
  });

  // Ends: SecretsReadable Mode
  it('warns of secrets that other users can read', async () => {
    await get().registerRack(['small', 'big']);
    const file = get().file('secure.yaml');
    await chmod(file, 0o644);
    const open = await doctor('rack.yaml', '-s', file);
    await chmod(file, 0o600);
    const closed = await doctor('rack.yaml', '-s', file);

    expect(open.findings).toMatchObject([
      {
        severity: 'warning',
        text: `configuration "${file}": it has secrets and can be read by others (mode 644)`,
        remedy: `chmod 600 ${file}`,
      },
    ]);
    expect(closed.findings).toEqual([]);
  });

  // Ends: ClockSkew Clock, NoAnswer Unreachable
  it('asks registered services how late it is there, and doubts what silent ones have published, until all is well', async () => {
    await get().registerRack(['small', 'big']);
    let aheadMs = HOUR;
    const server = createServer((_request, response) => {
      response.setHeader('Date', new Date(Date.now() + aheadMs).toUTCString());
      response.end('{}');
    });
    const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    await listen(0);
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    await get().register('launcher', {
      webUrl: url,
      conditions: [condition('StandbyMissing', 'small', 'it has none')],
    });
    const asked = await doctor('rack.yaml');
    aheadMs = 0; // timedatectl set-ntp true
    const onTime = await doctor('rack.yaml');
    await new Promise((resolve) => server.close(resolve));
    const silent = await doctor('rack.yaml');
    await listen(port);
    const back = await doctor('rack.yaml');
    server.close();

    expect(asked.status).toBe(0);
    expect(asked.findings.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^launcher ".*": its clock is (3599|360\d) s ahead of the one of this machine$/),
      'label "small": it has none',
    ]);
    expect(silent.status).toBe(1);
    expect(silent.findings.map(({ text, status }) => `${status}: ${text}`)).toEqual([
      expect.stringMatching(
        `^true: launcher ".*:${new URL(url).port}": it is registered, and its web server at ${url} does not answer: .*ECONNREFUSED`,
      ),
      'unknown: label "small": it has none (it may be over: its service does not answer)',
    ]);
    expect([onTime, back].map(({ findings }) => findings.map(({ text }) => text))).toEqual(
      Array(2).fill(['label "small": it has none']),
    );
  });

  it('warns of what config-validate warns of', async () => {
    await get().registerRack(['small']);
    await get().write(
      'unused.yaml',
      `${rackYaml(['small'], ['{name: host1, labels: small}'])}diskimages: [{name: debian}, {name: base, abstract: true}]\n`,
    );

    const warned = condition('ConfigurationProblem', get().file('unused.yaml'), '1 warning: unused.yaml:1:1');
    await get().register('launcher', { conditions: [{ ...warned, reason: 'Warnings' }] });
    await get().register('builder');

    const { findings } = await doctor('unused.yaml');

    expect(findings).toMatchObject([
      {
        severity: 'warning',
        text: expect.stringContaining('no provider lists diskimage "debian"') as string,
        remedy: `nodepool -c ${get().file('unused.yaml')} config-validate`,
      },
    ]);
  });

  it.each([
    ['of a service', 'small}', 'max-hold-age: never', 'max-hold-age'],
    ['of a driver', 'small, timeout: never}', '', 'timeout'],
  ])('tells once of an error in a key %s that a service of this machine has, too', async (_of, host, line, key) => {
    const file = get().file('broken.yaml');
    await get().write('broken.yaml', `${rackYaml(['small'], [`{name: host1, labels: ${host}`])}${line}\n`);
    await get().registerRack(['small']);
    const notLoaded = condition('ConfigurationNotLoaded', file, 'it continues: not valid, see the log');
    await get().register('launcher', { conditions: [{ ...notLoaded, reason: 'Invalid' }] });

    const { findings } = await doctor('broken.yaml');

    const text = /continues with its former configuration: .*broken\.yaml:\d+:\d+: /;
    expect(findings).toMatchObject([{ severity: 'error', type: 'ConfigurationNotLoaded', remedy: 'repair it' }]);
    expect(findings[0]?.text).toMatch(new RegExp(text.source + `.*${key}`));
  });
});

describe('nodepool doctor with a provider without a driver', () => {
  it('names it once, as an error until a launcher has registered it', async () => {
    const pods = '  - {name: pods, driver: vessel, pools: [{name: main, labels: [{name: pod}]}]}\n';
    const yaml = rackYaml(['small', 'pod'], ['{name: host1, labels: small}']);
    await get().write('mixed.yaml', yaml.replace('providers:\n', `providers:\n${pods}`));
    await get().registerRack(['small']);

    const alone = await doctor('mixed.yaml');
    await get().registerRack(['pod'], { providerName: 'pods', launcherId: 'there' as LauncherId, hostname: 'there' });
    const served = await doctor('mixed.yaml');

    const text = /^provider "pods": it is not served here, .*driver "vessel" is not installed.*; /.source;
    expect(alone).toMatchObject({
      status: 1,
      findings: [
        { severity: 'error', type: 'Unserved', text: expect.stringMatching(`${text}no launcher serves it`) as string },
      ],
    });
    expect(served).toMatchObject({
      status: 0,
      findings: [
        { severity: 'warning', text: expect.stringMatching(`${text}it is served by the launcher on there`) as string },
      ],
    });
  });
});

// Ends: SlowAnswers Slow
it('nodepool doctor says that ZooKeeper answers slowly, until it does not', async () => {
  const zookeeper = await startEmbeddedServer({ dataDir: get().file('slow'), fsync: false });
  const [, port = ''] = zookeeper.connectString.split(':');
  let lateMs = 300;
  const proxy = createSocketServer((client) => {
    const server = connect(Number(port), '127.0.0.1');
    const sockets = [client, server];
    for (const socket of sockets) socket.on('error', () => sockets.forEach((each) => each.destroy()));
    client.on('data', (data) => void setTimeout(() => server.write(data), lateMs));
    client.on('end', () => server.end());
    server.pipe(client);
  });
  onTestFinished(async () => {
    proxy.close();
    await zookeeper.close();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  await get().write(
    'slow.yaml',
    `zookeeper-servers: [{host: 127.0.0.1, port: ${(proxy.address() as AddressInfo).port}}]\n`,
  );
  const slow = async () => {
    const { stdout } = await get().nodepool('slow.yaml', 'doctor', '--json');
    return (JSON.parse(stdout) as Record<string, string>[]).find(({ type }) => type === 'SlowAnswers');
  };

  expect(await slow()).toMatchObject({
    text: expect.stringMatching(/ZooKeeper takes \d{3,} ms to answer$/) as string,
    remedy: 'look at the disk and the load of the ZooKeeper servers',
  });
  lateMs = 0;
  await expect.poll(slow, { timeout: 50_000 }).toBeUndefined();
});

describe('nodepool doctor without ZooKeeper', () => {
  /** What it finds with this state directory, as JSON and as text. */
  async function bothForms(stateDir: string) {
    await get().write('empty.yaml', '{}\n');
    const call = (...argv: string[]) =>
      nodepool('-c', get().file('empty.yaml'), '--state-dir', stateDir, '--connect-timeout', '0.5', ...argv);
    const [json, text, list] = [await call('doctor', '--json'), await call('doctor'), await call('list')];
    return { found: JSON.parse(json.stdout) as object[], status: [json.status, text.status], text: text.stdout, list };
  }

  const NO_LAUNCHER = { found: [{ type: 'NoLauncher' }], list: { status: 0 } };

  /** A server in this state directory, as a launcher starts it. */
  async function serve(stateDir: string): Promise<void> {
    const socket = { path: embeddedSocket(stateDir), mode: 0o600 };
    const server = await startEmbeddedServer({ dataDir: embeddedDataDir(stateDir), fsync: false, socket });
    onTestFinished(() => server.close());
    await writeEmbeddedServerInfo(stateDir, { socket: socket.path, pid: process.pid });
  }

  // Ends: NotConnected NoServer
  it('reports that no server runs, also as JSON, until one does', async () => {
    const stateDir = get().file('nowhere');
    const { found, status, text } = await bothForms(stateDir);

    expect(status).toEqual([1, 1]);
    expect(found).toMatchObject([{ kind: 'zookeeper', type: 'NotConnected', reason: 'NoServer', severity: 'error' }]);
    expect(text).toMatch(
      /^error: zookeeper "ensemble": No zookeeper-servers .*\n {2}start nodepool-launcher, or name its/,
    );
    await mkdir(stateDir, { mode: 0o700 });
    await serve(stateDir);
    expect(await bothForms(stateDir)).toMatchObject(NO_LAUNCHER);
  });

  // Ends: NotConnected CannotWrite
  it('names the disk of an embedded server that cannot write, as every command does, until it can', async () => {
    const stateDir = get().file('full');
    await mkdir(embeddedDataDir(stateDir), { recursive: true, mode: 0o700 });
    const why =
      'it cannot write in /full/zookeeper: ENOSPC: no space left; free space on that disk, and the server resumes';
    const server = createSocketServer((socket) =>
      socket.once('data', (chunk) => {
        const isAsked = chunk.toString() === 'srvr';
        socket.end(isAsked ? `This ZooKeeper instance is not currently serving requests\n${why}\n` : '');
      }),
    );
    onTestFinished(() => void server.close());
    await mkdir(dirname(embeddedSocket(stateDir)), { recursive: true, mode: 0o700 });
    await new Promise<void>((listening) => server.listen(embeddedSocket(stateDir), listening));
    await chmod(embeddedSocket(stateDir), 0o600);
    await writeEmbeddedServerInfo(stateDir, { socket: embeddedSocket(stateDir), pid: process.pid });

    const { found, status, list } = await bothForms(stateDir);

    const finding =
      'The embedded ZooKeeper server does not serve: it cannot write in /full/zookeeper: ENOSPC: no space left.';
    const remedy = 'free space on that disk, and the server resumes';
    expect(status).toEqual([1, 1]);
    expect(found).toMatchObject([{ reason: 'CannotWrite', text: `zookeeper "ensemble": ${finding}`, remedy }]);
    expect(list).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`nodepool: ${finding} ${remedy}`) as string,
    });
    await new Promise((resolve) => server.close(resolve));
    await serve(stateDir); // it resumes
    expect(await bothForms(stateDir)).toMatchObject(NO_LAUNCHER);
  });
});
