import { chmod } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  componentCreatePath,
  componentsPath,
  controlPath,
  encodeComponent,
  encodeControl,
  newComponent,
  newControl,
} from '@nodepool/zk-protocol';
import { useInstallation } from './installation.js';
import { rackYaml, TWO_HOSTS } from './rack-config.js';

const get = useInstallation();
const HOUR = 3_600_000;

beforeAll(async () => {
  await get().write('rack.yaml', TWO_HOSTS);
  await get().write('standby.yaml', rackYaml(['small\n    min-ready: 2'], ['{name: host1, labels: small}']));
  await get().write('secure.yaml', '{}\n');
});

/** What doctor finds, and with which status it ends. */
async function doctor(config: string, ...options: string[]) {
  const { status, stdout } = await get().nodepool(config, 'doctor', '--json', ...options);
  const findings = JSON.parse(stdout) as { severity: string; text: string; remedy: string }[];
  // how fast the answers are depends on what else this machine does
  return { status, findings: findings.filter(({ text }) => !text.startsWith('ZooKeeper takes')) };
}

describe('nodepool doctor', () => {
  it('finds nothing wrong where nothing is', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();

    const { status, stdout } = await get().nodepool('rack.yaml', 'doctor');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^(Nothing is wrong\.\n|warning: ZooKeeper takes \d+ ms.*\n.*\n)$/);
  });

  it('says that no launcher runs, and what is therefore not served', async () => {
    const { status, findings } = await doctor('rack.yaml');

    expect(status).toBe(1);
    expect(findings.map(({ text }) => text)).toEqual([
      'no launcher is registered: requests are not served',
      'no registered pool serves label "small"',
      'no registered pool serves label "big"',
      'no launcher has registered a pool of provider "rack"',
    ]);
  });

  it('names deletions that hang, and not those that have just begun', async () => {
    await get().registerRack(['small', 'big']);
    const stuck = await get().createNode({ state: 'deleting', stateTimeMs: Date.now() - HOUR });
    await get().createNode({ state: 'deleting' });

    const { status, findings } = await doctor('rack.yaml');

    expect(status).toBe(1);
    expect(findings).toEqual([
      {
        severity: 'error',
        text: expect.stringMatching(`^node ${stuck} of provider "rack" has been deleting for 6\\d minutes$`) as string,
        remedy: `nodepool delete ${stuck} --now`,
      },
    ]);
  });

  it('warns of standby nodes that are missing, of orders, and of nodes that no launcher has', async () => {
    await get().registerRack(['small']);
    await get().createNode();
    await get().createNode({ provider: 'gone' });
    await get().zk.ensurePath('/nodepool/controls/label');
    const order = newControl({ kind: 'label', name: 'small', mode: 'pause', owner: 'alice' }, Date.now());
    await get().zk.create(controlPath(order), encodeControl(order));

    const { status, findings } = await doctor('standby.yaml');

    expect(status).toBe(0);
    expect(findings).toEqual([
      {
        severity: 'warning',
        text: '1 nodes of provider "gone", which no launcher has',
        remedy: 'nodepool info gone, nodepool erase gone',
      },
      { severity: 'warning', text: 'label "small" is paused by alice', remedy: 'nodepool label resume small' },
    ]);
  });

  it('warns of a label with fewer standby nodes than it should have', async () => {
    await get().registerRack(['small']);
    await get().createNode({ state: 'building' });

    const { findings } = await doctor('standby.yaml');

    expect(findings.map(({ text }) => text)).toEqual(['label "small" has 0 of 2 standby nodes, and 1 are being made']);
  });

  it('warns of secrets that others can read', async () => {
    await get().registerRack(['small', 'big']);
    const file = get().file('secure.yaml');
    await chmod(file, 0o644);
    const open = await doctor('rack.yaml', '-s', file);
    await chmod(file, 0o600);
    const closed = await doctor('rack.yaml', '-s', file);

    expect(open.findings).toEqual([
      {
        severity: 'warning',
        text: `${file} has secrets and can be read by others (mode 644)`,
        remedy: `chmod 600 ${file}`,
      },
    ]);
    expect(closed.findings).toEqual([]);
  });

  it('asks registered services how they are, and how late it is there', async () => {
    await get().registerRack(['small', 'big']);
    const answers = new Map([
      [
        '/healthz',
        JSON.stringify({
          hostname: 'nl01',
          failing_deletions: [{ node: '7', attempts: 3, error: 'no' }],
          leaked_resources: [
            { provider: 'rack', type: 'instance', id: 'i-1', node: '0000000009', since: 'noon', error: null },
            { provider: 'rack', type: 'port', id: 'p-2', node: null, since: 'noon', error: 'forbidden' },
          ],
        }),
      ],
      ['/metrics', 'nodepool_leaked_resources_total{provider="rack",type="ports"} 2\n'],
    ]);
    const server = createServer((request, response) => {
      response.setHeader('Date', new Date(Date.now() + HOUR).toUTCString());
      response.end(answers.get(request.url ?? ''));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await register(url);
    const asked = await doctor('rack.yaml');
    await new Promise((resolve) => server.close(resolve));
    const silent = await doctor('rack.yaml');

    expect(asked.status).toBe(1);
    expect(asked.findings.map(({ text }) => text)).toEqual([
      'the deletion of node 7 has failed 3 times: no',
      'port p-2 of provider "rack" is in the cloud and has no record, as nl01 sees since noon; its deletion fails: forbidden',
      expect.stringMatching(/^the clock of nl01 is (3599|360\d) s ahead of the one of this machine$/),
      'instance i-1 of provider "rack", made for node 0000000009, is in the cloud and has no record, as nl01 sees since noon',
      'nl01 has deleted 2 leaked ports of provider "rack" since its start',
    ]);
    expect(silent.findings.map(({ text }) => text)).toEqual([
      expect.stringMatching(`^the service at ${url} is registered and does not answer: .*ECONNREFUSED`),
    ]);
  });

  it('warns of what config-validate warns of', async () => {
    await get().registerRack(['small']);
    await get().createNode();
    await get().createNode();
    await get().write(
      'unused.yaml',
      `${rackYaml(['small'], ['{name: host1, labels: small}'])}diskimages: [{name: debian}, {name: base, abstract: true}]\n`,
    );

    const { findings } = await doctor('unused.yaml');

    expect(findings).toContainEqual({
      severity: 'warning',
      text: expect.stringContaining('no provider lists diskimage "debian"') as string,
      remedy: 'nodepool config-validate',
    });
    const unbuilt = findings.filter(({ text }) => text.endsWith('has no ready build'));
    expect(unbuilt.map(({ text }) => text)).toEqual(['image "debian" has no ready build']);
  });
});

async function register(webUrl: string): Promise<void> {
  const known = { kind: 'launcher', hostname: hostname(), state: 'running', version: '1.0' };
  const launcher = { ...newComponent(known), webUrl };
  await get().zk.ensurePath(componentsPath('launcher'));
  const path = componentCreatePath('launcher', hostname());
  await get().zk.create(path, encodeComponent(launcher), { sequential: true, ephemeral: true });
}
