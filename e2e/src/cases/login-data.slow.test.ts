import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeKubernetes } from '@nodepool/kubernetes';
import { systemClock } from '@nodepool/zk-protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXCERPTS, makeProviders, SECRETS, secretsIn } from '../cluster-logins.js';
import { startGround, type Ground } from '../harness.js';
import { children } from '../inventory.js';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { filesOf, listen, pagesOf, recordsOf } from '../public-answers.js';
import { openSession } from '../session.js';
import { SOON_MS } from '../soon.js';
import { ZuulClient } from '../zuul-client.js';

let ground: Ground;
let cluster: FakeKubernetes;
const launchers: LauncherProcess[] = [];

beforeAll(async () => {
  ground = await startGround();
  cluster = await FakeKubernetes.start({ clock: systemClock, startMs: 100, deleteMs: 100, accountMs: 50 });
  for (const token of [SECRETS.token, SECRETS.fileToken, SECRETS.programToken]) cluster.tokens.add(token);
});

afterAll(async () => {
  await Promise.all(launchers.map((launcher) => launcher.stop()));
  await cluster.stop();
  await ground.zk.close();
  await ground.zookeeper.stop();
  await rm(ground.dir, { recursive: true, force: true });
});

const WORKING = ['plain', 'file', 'program'];

async function nodepool(...args: string[]): Promise<string> {
  const run = NodepoolProcess.start(args);
  await run.end();
  return run.stdout + run.stderr;
}

async function call(launcher: LauncherProcess, token: string, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return (await fetch(`http://127.0.0.1:${launcher.webPort}/api/v1${path}`, init)).text();
}

interface Lease {
  readonly id: string;
  readonly state: string;
  readonly nodes: readonly { readonly id: string }[];
}

it('login data is in node records and in the answer to the owner of a lease, and nowhere else', async () => {
  const providers = await makeProviders({ dir: ground.dir, url: cluster.url });
  const labels = providers.flatMap(({ name }) => ['pod', 'space'].map((kind) => ({ name: `${String(name)}-${kind}` })));
  const zookeeper = { host: '127.0.0.1', port: ground.zookeeper.plainPort };
  const config = { 'zookeeper-servers': [zookeeper], labels, providers };
  const secureFile = join(ground.dir, 'secure.yaml');
  const secure = { 'token-keys': [SECRETS.tokenKey] };
  await writeFile(secureFile, JSON.stringify(secure), { mode: 0o600 });
  const dir = join(ground.dir, 'launcher');
  const launcher = await LauncherProcess.start(dir, 'launcher', config, {}, ['-s', secureFile]);
  launchers.push(launcher);
  await launcher.whenReady();
  const events = await listen(launcher);
  const common = launcher.commonOptions;
  const [owner, stranger] = await Promise.all(
    ['owner', 'stranger'].map(
      async (name) => (await nodepool('token', 'create', name, '-s', secureFile, ...common)).split('\n')[0],
    ),
  );
  if (owner === undefined || stranger === undefined) throw new Error('no tokens were made');

  // nodes of a lease, of Zuul, and of launches that fail
  const leases = await Promise.all(
    WORKING.map(async (name) => {
      const asked = { labels: [`${name}-pod`, `${name}-space`], ttl: 600, wait: 50 };
      return JSON.parse(await call(launcher, owner, 'POST', '/leases', asked)) as Lease;
    }),
  );
  expect(leases.map(({ state }) => state)).toEqual(['active', 'active', 'active']);
  const leased = leases.flatMap(({ nodes }) => nodes);
  const zuul = new ZuulClient(await openSession(ground.zookeeper));
  const held = await zuul.getNodes(['plain-pod', 'plain-space']);
  cluster.cluster.nextPod('unpullable');
  const failing = await zuul.submit(['file-pod']);
  const waiting = await zuul.submit(['refused-pod']);
  await zuul.wait(failing);

  // what Zuul and the owner get
  const records = await Promise.all(
    (await children(ground.zk, '/nodepool/nodes')).map(async (id) => ({ id, ...(await zuul.readNode(id)).body })),
  );
  const secretOf = (body: object) => (body as { connection_port?: { token?: string } }).connection_port?.token;
  const nodeSecrets = Object.fromEntries(
    records.flatMap((body) => (secretOf(body) === undefined ? [] : [[`node ${body.id}`, secretOf(body) ?? '']])),
  );
  const secrets = { ...EXCERPTS, ...nodeSecrets, owner, stranger };
  expect(Object.keys(nodeSecrets)).toHaveLength(leased.length + held.length);
  for (const { id, nodes } of leases) {
    const answers = [JSON.stringify(nodes), await call(launcher, owner, 'GET', `/leases/${id}`)];
    const ofLease = nodes.map((node) => `node ${node.id}`).sort();
    expect(answers.map((answer) => secretsIn(answer, secrets).sort())).toEqual([ofLease, ofLease]);
  }

  // what everybody else gets
  const nodeId = leased[0]?.id ?? '';
  const ids = {
    nodes: records.map(({ id }) => id),
    requests: zuul.submitted,
    leases: leases.map(({ id }) => id),
    history: [nodeId, failing, waiting],
  };
  launcher.signal('SIGUSR2');
  await launcher.whenLogged(/State is in the debug log/);
  const outputs = await pagesOf(launcher, stranger, ids);
  const commands = [
    ...[['list', '--detail'], ['list', '--json', '--detail'], ['request-list', '--detail'], ['labels'], ['doctor']],
    ...[['explain', waiting], ['explain', '--label', 'plain-pod'], ['explain', '--label', 'spoilt-pod'], ['drivers']],
    ...[
      ['timeline', nodeId, '--detail'],
      ['timeline', failing, '--detail'],
      ['timeline', waiting, '--detail'],
    ],
    ...[['hosts'], ['controls'], ['config-validate'], ['plan'], ['adopt', 'plain']],
    ...providers.map(({ name }) => ['info', String(name)]),
  ];
  await Promise.all(
    commands.map(async (args) =>
      outputs.set(`nodepool ${args.join(' ')}`, await nodepool(...args, '--debug', ...common)),
    ),
  );
  for (const [what, text] of outputs) expect(`${what}: ${text}`).toMatch(/: [^]{2}/);
  for (const name of ['spoilt', 'ends', 'refused', 'unreadable', 'anchor'])
    expect(outputs.get('/healthz'), name).toContain(`"${name}`);

  // and what stays when all is over
  await Promise.all([zuul.cancel(waiting), zuul.cancel(failing), ...held.map((node) => zuul.giveBack([node]))]);
  await Promise.all(leases.map(({ id }) => call(launcher, owner, 'DELETE', `/leases/${id}`)));
  await expect.poll(() => children(ground.zk, '/nodepool/nodes'), { timeout: SOON_MS }).toEqual([]);
  await launcher.rewriteConfig({ ...config, providers: providers.slice(1) });
  await launcher.whenLogged(/Configuration reloaded/);
  events.end();
  await zuul.zk.close();
  await launcher.stop();
  outputs.set('log', launcher.log).set('events', events.text);
  const files = await filesOf(dir);
  expect([...files.keys()].join('\n')).toMatch(/history\/.*/);
  for (const [what, text] of [...files, ...(await recordsOf(ground.zk))]) outputs.set(what, text);
  expect(launcher.log).toContain('debug');
  expect(events.text).toContain(nodeId);

  const leaks = [...outputs].flatMap(([what, text]) =>
    secretsIn(text, secrets).map((secret) => `${secret} in ${what}`),
  );
  expect(leaks).toEqual([]);
}, 600_000);
