import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { FAKE_TOKEN, FakeKubernetes } from '@nodepool/kubernetes';
import { systemClock } from '@nodepool/zk-protocol';
import { PROGRAM } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

const CONFIG = `labels:
  - name: small
providers:
  - name: sky
    driver: openstack
    cloud: mycluod
    cloud-images:
      - name: debian
    pools:
      - name: main
        labels:
          - {name: small, flavor-name: m1, cloud-image: debian}
`;

/** A process each, as drivers keep what they have read. */
async function validate(...options: string[]) {
  const argv = [PROGRAM, 'config-validate', '-c', get().file('sky.yaml'), ...options];
  const env = { ...process.env, OS_CLIENT_CONFIG_FILE: get().file('openstack/clouds.yaml') };
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  return { stderr: await text(child.stderr), status: await ended };
}

it.each([
  ['lacks the cloud', 'clouds:\n  mycloud: {}\n', /cloud "mycluod" is not in \S+clouds\.yaml: it has mycloud/],
  ['is no YAML', 'clouds:\n  mycluod: {a: "b}\n', /clouds\.yaml:\d+:\d+ is not valid YAML/],
])('a clouds.yaml that %s is a warning at its place, and with --strict an error', async (_what, clouds, message) => {
  await mkdir(get().file('openstack'), { recursive: true });
  await get().write('openstack/clouds.yaml', clouds);
  await get().write('sky.yaml', CONFIG);

  const lenient = await validate();
  const strict = await validate('--strict');

  expect(lenient.stderr).toMatch(/sky\.yaml:6:12: providers\[0\]\.cloud: warning: /);
  expect(lenient.stderr).toMatch(message);
  expect([lenient.status, strict.status]).toEqual([0, 1]);
});

it('asks a cluster with --check-access what the account may not do, and is not hindered by one that does not tell', async () => {
  const fake = await FakeKubernetes.start({ clock: systemClock, startMs: 0, deleteMs: 0, accountMs: 0 });
  onTestFinished(() => fake.stop());
  const kubeconfig = {
    'current-context': 'fake',
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'nodepool' } }],
    clusters: [{ name: 'fake', cluster: { server: fake.url } }],
    users: [{ name: 'nodepool', user: { token: FAKE_TOKEN } }],
  };
  await get().write('kube.json', JSON.stringify(kubeconfig));
  const pools = '[{name: main, labels: [{name: pod, image: debian}]}]';
  await get().write(
    'pods.yaml',
    `labels: [{name: pod}]\nproviders:\n- {name: pods, driver: openshiftpods, context: fake, kubeconfig: ${get().file('kube.json')}, pools: ${pools}}\n`,
  );
  const check = (...options: string[]) => get().nodepool('pods.yaml', 'config-validate', ...options);
  fake.rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['create', 'delete', 'get', 'list'] }];

  const [unasked, asked, strict] = [
    await check(),
    await check('--check-access'),
    await check('--check-access', '--strict'),
  ];
  fake.denied.add('create selfsubjectrulesreviews');
  const refused = await check('--check-access', '--strict');

  const lines = asked.stderr.split('\n').filter((line) => line.includes('may not'));
  expect(lines.map((line) => line.replace(/^.*warning: the account of provider "pods" may not /, ''))).toEqual([
    'watch pods: changes are seen some seconds later',
    expect.stringMatching(/^list resourcequotas: quotas are not known/),
    expect.stringMatching(/^list limitranges: defaults and ceilings are not known/),
  ]);
  expect(lines[0]).toMatch(/pods\.yaml:3:10: providers\[0\]\.name: warning: /);
  expect(unasked.stderr).not.toContain('may not');
  expect([asked.status, strict.status]).toEqual([0, 1]);
  expect(refused.stderr).toContain('provider "pods": rights are not known: ');
  expect(refused.stderr).not.toContain('may not');
});

it('reports a provider without a driver as an error, and with --unserved-ok as a warning', async () => {
  const rack = '{name: rack, driver: static, pools: [{name: main, nodes: [{name: host1, labels: small}]}]}';
  const pods = '{name: pods, driver: vessel, any: {key: [1]}, pools: [{name: main, labels: [{name: pod, spec: {}}]}]}';
  await get().write('mixed.yaml', `labels: [{name: small}, {name: pod}]\nproviders: [${rack}, ${pods}]\n`);
  await get().write('alone.yaml', `labels: [{name: pod}]\nproviders: [${pods}]\n`);
  const check = (file: string, ...options: string[]) => get().nodepool(file, 'config-validate', ...options);

  const [strict, lenient, alone] = [
    await check('mixed.yaml'),
    await check('mixed.yaml', '--unserved-ok'),
    await check('alone.yaml', '--unserved-ok'),
  ];

  expect([strict.status, lenient.status, alone.status]).toEqual([1, 0, 1]);
  expect(strict.stderr).toMatch(/mixed\.yaml:2:\d+: providers\[1\]\.driver: driver "vessel" is not installed/);
  expect(lenient.stderr).toMatch(/warning: provider "pods" is not served: driver "vessel" is not installed/);
  expect(lenient.stderr.trim().split('\n')).toHaveLength(1);
  expect(alone.stderr).toMatch(/providers\[0\]\.driver: driver "vessel" is not installed/);
});

it('reports with --as-original what the original refuses', async () => {
  const rack =
    '{name: rack, driver: static, steering: false, pools: [{name: main, nodes: [{name: host1, labels: small}]}]}';
  await get().write('ours.yaml', `labels:\n- {name: small, price: 2}\nproviders:\n- ${rack}\n`);
  const check = (...options: string[]) => get().nodepool('ours.yaml', 'config-validate', ...options);

  const [usual, asOriginal] = [await check(), await check('--as-original')];

  expect([usual.status, asOriginal.status]).toEqual([0, 1]);
  expect(asOriginal.stderr).toMatch(/ours\.yaml:2:17: labels\[0\]\.price: "price" is not known to the original\n/);
  expect(asOriginal.stderr).toMatch(
    /ours\.yaml:4:32: providers\[0\]\.steering: "steering" is not known to the original\n/,
  );
});

it('names the place of each problem, without ZooKeeper', async () => {
  await get().write('bad.yaml', 'labels:\n  - nam: small\n');

  const bad = await get().nodepool('bad.yaml', '--state-dir', '/none', 'config-validate');

  expect(bad.status).toBe(1);
  expect(bad.stderr).toMatch(/bad\.yaml:2:\d+: labels\[0\]/);
});

it('refuses hosts and users that a program would take for an option, and takes users with a blank inside', async () => {
  const node = (name: string, username: string) => `{name: ${name}, labels: small, username: ${username}}`;
  const nodes = [
    node('"-oProxyCommand=x"', 'zuul'),
    node('host1', '"-x"'),
    node('"a b"', 'zuul'),
    node('h4', '"a\\tb"'),
  ];
  const images = 'diskimages: [{name: debian, elements: [], username: "-x"}]';
  const file = (all: string[]) =>
    `labels: [{name: small}]\n${images}\nproviders: [{name: rack, driver: static, pools: [{name: main, nodes: [${all.join(', ')}]}]}]`;
  await get().write('bad.yaml', file(nodes));
  await get().write(
    'good.yaml',
    file([node('host1', '"John Doe"'), node('"fe80::1%eth0"', '""')]).replace('"-x"', 'zuul'),
  );

  const bad = await get().nodepool('bad.yaml', 'config-validate');
  const good = await get().nodepool('good.yaml', 'config-validate');

  for (const path of [
    'nodes[0].name',
    'nodes[1].username',
    'nodes[2].name',
    'nodes[3].username',
    'diskimages[0].username',
  ])
    expect(bad.stderr).toContain(path);
  expect([bad.status, good.status], good.stderr).toEqual([1, 0]);
});
