import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { findEmbeddedServer, readTokenKey } from '@nodepool/core/config';
import type { DaemonService } from '@nodepool/daemon';
import {
  componentCreatePath,
  connect,
  encodeComponent,
  encodeLeaseToken,
  leasePath,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  newPoolComponent,
  nodeLockPath,
  nodePath,
  signLeaseToken,
  systemClock,
  ZkLock,
  type LauncherId,
  type LeaseRights,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { createService } from '../../start-service.js';

const ADMIN = 'a-token-that-is-hard-to-guess';
const SECRET = 'a-secret-of-a-lease-token';
const SLOTS = 4;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
const yamlOf = (caKey: string) => `
lease-ca-key: ${caKey}
webapp: {port: 0, listen_address: 127.0.0.1}
max-hold-age: 7200
labels: [{name: small}, {name: big}, {name: keyed}, {name: nowhere}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes: [{name: 127.0.0.1, labels: [small, big], host-key-checking: false, max-parallel-jobs: ${SLOTS}}]
  - name: keyed-rack
    driver: static
    lease-certificates: host
    pools:
      - name: main
        nodes: [{name: 127.0.0.1, connection-port: 2, labels: keyed, username: zuul, host-key-checking: false}]
`;

let directory: string;
let service: DaemonService;
let zk: ZooKeeper;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Record<string, unknown>;
}

const url = (path: string) => `http://127.0.0.1:${service.web?.port}/api/v1${path}`;

async function call(
  method: string,
  path: string,
  { token = `alice.${SECRET}`, body, key }: { token?: string | null; body?: object; key?: string } = {},
): Promise<Answer> {
  const response = await fetch(url(path), {
    method,
    headers: {
      connection: 'close',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const retryAfter = response.headers.get('retry-after');
  return { status: response.status, retryAfter, body: (await response.json()) as Answer['body'] };
}
const lease = (body: object = {}, options: { token?: string | null; key?: string } = {}) =>
  call('POST', '/leases', { ...options, body: { labels: ['small'], wait: 10, ...body } });

async function storeToken(
  name: string,
  rights: Partial<LeaseRights> & { endTimeMs?: number } = {},
  secret = SECRET,
): Promise<void> {
  const all: LeaseRights = {
    ...{ owner: name, labels: ['*'], maxTtlMs: 86_400_000, maxNodes: null, tenantName: null },
    ...{ highestPriority: 200, admin: false, ...rights },
  };
  const hash = createHash('sha256').update(secret).digest('hex');
  const token = newLeaseToken({ ...all, name, hash, endTimeMs: rights.endTimeMs ?? null }, Date.now());
  const signed = signLeaseToken(token, await readTokenKey(join(directory, 'state')));
  await zk.ensurePath(leaseSlotsPath(name));
  await zk.create(leaseTokenPath(name), encodeLeaseToken(signed));
  const known = async () => expect((await call('GET', '/leases', { token: `${name}.${secret}` })).status).not.toBe(401);
  await vi.waitFor(known, { timeout: 5_000 });
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-leases-'));
  const files = { configFile: join(directory, 'nodepool.yaml'), secureFile: join(directory, 'secure.yaml') };
  const caKey = join(directory, 'lease_ca');
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', caKey]);
  await writeFile(files.configFile, yamlOf(caKey));
  await writeFile(files.secureFile, `api-tokens: [{name: root, token: ${ADMIN}}]\n`);
  const others = { logConfigFile: undefined, pidFile: join(directory, 'pid'), foreground: true, debug: false };
  const times = { webapp: true, stateDir: join(directory, 'state'), drainTimeoutMs: 1000, announceLegacy: false };
  service = await createService({
    args: { ...files, ...others, ...times },
    ...{ env: {}, clock: systemClock, logger: silentLogger, version: '1', hostname: 'nl01', profileDirs: [directory] },
  });
  await service.start();
  const embedded = await findEmbeddedServer([join(directory, 'state')]);
  zk = await connect({ servers: embedded?.servers ?? '' });
  await storeToken('alice');
  await storeToken('bob');
});

afterEach(async () => {
  const { body } = await call('GET', '/leases', { token: ADMIN });
  for (const { id } of Object.values(body) as { id: string }[]) await call('DELETE', `/leases/${id}`, { token: ADMIN });
});

afterAll(async () => {
  await zk.close();
  await service.stop(1000);
  await rm(directory, { recursive: true });
});

describe('a lease', () => {
  it('gives nodes with all that is needed to log in, until they are returned', async () => {
    const { status, body } = await lease({ labels: ['small', 'big'], reason: 'try', ttl: 60 });
    const { id } = body as { id: string };

    expect([status, body]).toMatchObject([200, { state: 'active', owner: 'alice', reason: 'try', ttl: 60 }]);
    expect(body['nodes']).toMatchObject([
      {
        label: 'small',
        labels: ['small', 'big'],
        host: '127.0.0.1',
        port: 22,
        host_keys: [],
        slot: 0,
        connection_type: 'ssh',
        provider: 'rack',
        known_hosts: [],
      },
      { label: 'big', host: '127.0.0.1' },
    ]);
    expect((await call('GET', `/leases/${id}`)).body).toMatchObject({ id, state: 'active' });

    expect((await call('DELETE', `/leases/${id}`)).body).toMatchObject({
      state: 'ended',
      end_reason: 'returned by alice',
    });
    expect((await call('GET', `/leases/${id}`)).body).toMatchObject({ state: 'ended', nodes: [] });
    expect(await call('POST', `/leases/${id}/renew`)).toMatchObject({ status: 409, body: { code: 'over' } });
  });

  it('gives its owner, and listings to none, the kubeconfig file of a node of a cluster', async () => {
    const { body } = await lease();
    const { id, nodes } = body as unknown as { id: string; nodes: { id: string }[] };
    const path = nodePath((nodes[0]?.id ?? '') as NodeId);
    const record = JSON.parse((await zk.getData(path)).data.toString('utf8')) as object;
    const port = { host: 'https://cluster', token: 't0ken', namespace: 'main-1', user: 'zuul-worker' };
    const changed = { ...record, slot: null, connection_type: 'kubectl', connection_port: port };
    await zk.setData(path, Buffer.from(JSON.stringify(changed)));

    const shown = async () => JSON.stringify((await call('GET', `/leases/${id}`)).body['nodes']);
    await vi.waitFor(async () => expect(await shown()).toContain('t0ken'), { timeout: 20_000 });
    const listed = await call('GET', '/nodes', { token: ADMIN });
    expect(JSON.stringify(listed.body)).toContain('redacted');
    expect(JSON.stringify(listed.body)).not.toContain('t0ken');
    expect((await call('GET', `/leases/${id}`, { token: `bob.${SECRET}` })).status).not.toBe(200);
    await zk.setData(path, Buffer.from(JSON.stringify({ ...changed, slot: 0 }))); // its token is that of all slots
    await vi.waitFor(async () => expect(await shown()).not.toContain('t0ken'), { timeout: 20_000 });
    await zk.setData(path, Buffer.from(JSON.stringify(record)));
  });

  it('has no nodes of a pool that keeps them from lessees, nor the token of one', async () => {
    const pool = newPoolComponent({
      ...{ hostname: 'nl02', version: '1', launcherId: 'nl02' as LauncherId, name: 'main', providerName: 'shift' },
      ...{ supportedLabels: ['big', 'pod'], notLent: 'set service-account of the pool' },
    });
    const path = await zk.create(componentCreatePath('pool', 'nl02'), encodeComponent(pool), {
      sequential: true,
      ephemeral: true,
    });
    const lendable = async () => {
      const labels = Object.values((await call('GET', '/labels')).body) as { label: string; lendable: boolean }[];
      return Object.fromEntries(labels.map(({ label, lendable: is }) => [label, is]));
    };
    await expect.poll(lendable).toMatchObject({ small: true, big: false, pod: false });

    const { status, body } = await lease({ labels: ['small', 'big'] });

    expect([status, body]).toMatchObject([422, { code: 'not-lent' }]);
    expect(body['detail']).toBe('"big" is not lent over HTTP: provider "shift": set service-account of the pool');
    await zk.delete(path);
    await expect.poll(lendable).toMatchObject({ big: true });
  });

  it('gives nothing to log in to a node whose record could run something on the computer of the lessee', async () => {
    const { body } = await lease();
    const { id, nodes } = body as unknown as { id: string; nodes: { id: string }[] };
    const path = nodePath((nodes[0]?.id ?? '') as NodeId);
    const record = JSON.parse((await zk.getData(path)).data.toString('utf8')) as object;
    const shown = async () => (await call('GET', `/leases/${id}`)).body['nodes'];

    for (const unsafe of [{ connection_type: 'local' }, { username: '-oProxyCommand=id' }]) {
      await zk.setData(path, Buffer.from(JSON.stringify({ ...record, ...unsafe })));
      const without = {
        host: null,
        port: null,
        username: null,
        hostname: null,
        public_ipv4: null,
        connection_type: 'ssh',
      };
      await vi.waitFor(async () => expect(await shown()).toMatchObject([without]), { timeout: 20_000 });
    }
    await zk.setData(path, Buffer.from(JSON.stringify(record)));
  });

  it('is the same when its request is repeated with its key, and another request with the key is refused', async () => {
    const [one, two] = await Promise.all([lease({}, { key: 'k1' }), lease({}, { key: 'k1' })]);

    expect(one.body['id']).toBe(two.body['id']);
    expect((await lease({}, { key: 'k2' })).body['id']).not.toBe(one.body['id']);
    expect(await lease({ labels: ['big'] }, { key: 'k1' })).toMatchObject({
      status: 422,
      body: { code: 'key-reused' },
    });
  });

  it('is answered to a repetition with its key although its label is not lent any more', async () => {
    const request = (key: string) => lease({ labels: ['big'] }, { key });
    const { body } = await request('k4');
    const pool = newPoolComponent({
      ...{ hostname: 'nl02', version: '1', launcherId: 'nl02' as LauncherId, name: 'main', providerName: 'shift' },
      ...{ supportedLabels: ['big'], notLent: 'set service-account of the pool' },
    });
    const path = await zk.create(componentCreatePath('pool', 'nl02'), encodeComponent(pool), {
      sequential: true,
      ephemeral: true,
    });
    const refusal = { status: 422, body: { code: 'not-lent' } };
    let others = 0;
    await expect.poll(() => request(`other-${others++}`), { timeout: 5_000 }).toMatchObject(refusal);

    const again = await request('k4');
    await zk.delete(path);
    expect(again).toMatchObject({ status: 200, body: { id: body['id'], state: 'active' } });
  });

  it('is not found with the key of a former token of the same name', async () => {
    await storeToken('tom');
    const former = await lease({}, { token: `tom.${SECRET}`, key: 'k3' });
    const path = leaseTokenPath('tom');
    await zk.delete(path);
    await storeToken('tom', { owner: 'successor' }, 'another-secret');

    const { body } = await lease({}, { token: 'tom.another-secret', key: 'k3' });

    expect(former.body).toMatchObject({ owner: 'tom', state: 'active' });
    expect(body).toMatchObject({ owner: 'successor' });
    expect(body['id']).not.toBe(former.body['id']);
  });

  it('that waits says why, and its place in the queue', async () => {
    const all = await lease({ labels: Array<string>(SLOTS).fill('small') });
    const { body } = await lease({ wait: 0 });

    const waiting = await call('GET', `/leases/${body['id'] as string}`);
    expect(waiting.body).toMatchObject({ state: 'waiting', position: 0, nodes: [] });
    expect(JSON.stringify(waiting.body['explanation'])).toContain('rack');

    const served = call('GET', `/leases/${body['id'] as string}?wait=20`);
    await call('DELETE', `/leases/${all.body['id'] as string}`);
    expect((await served).body).toMatchObject({ state: 'active' });
  });

  it('with an SSH key gets certificates of it, where each launcher and machine knows the CA', async () => {
    const labels = Object.values((await call('GET', '/labels')).body) as { label: string; takes_ssh_key: boolean }[];
    expect(labels.filter(({ takes_ssh_key: takes }) => takes).map(({ label }) => label)).toEqual(['keyed']);

    const { body } = await lease({ labels: ['keyed'], ssh_key: `${KEY} alice@laptop\n`, ttl: 300, wait: 60 });
    const path = `/leases/${body['id'] as string}`;
    const nodeOf = (answer: Answer['body']) => (answer['nodes'] as Record<string, unknown>[])[0];

    const line = expect.stringMatching(/^ssh-ed25519-cert-v01@openssh\.com \S+$/) as string;
    const certificate = { certificate: line, certificate_expires: body['expires'], certificate_problem: null };
    expect(nodeOf(body)).toMatchObject(certificate);
    expect(nodeOf((await call('GET', path)).body)).toEqual(nodeOf(body));
    const renewed = await call('POST', `${path}/renew`, { body: { ttl: 600 } });
    expect(nodeOf(renewed.body)?.['certificate_expires']).toBeGreaterThan(Number(body['expires']));
    expect(await call('GET', path, { token: `bob.${SECRET}` })).toMatchObject({ status: 404 });
    const listed = Object.values((await call('GET', '/leases?state=active')).body) as Answer['body'][];
    expect(listed.flatMap((each) => each['nodes'])).toContainEqual(expect.objectContaining({ certificate: null }));

    await call('DELETE', path);
    expect((await call('GET', path)).body).toMatchObject({ state: 'ended', nodes: [] });
  });

  it('fails with the reason when no pool can serve it', async () => {
    const { body } = await lease({ labels: Array<string>(SLOTS + 1).fill('small') });

    expect(body).toMatchObject({ state: 'failed', end_reason: expect.stringMatching(/^rack-main: /) as string });
  });

  it('is renewed, but not beyond max-hold-age', async () => {
    const { body } = await lease({ ttl: 60 });
    const path = `/leases/${body['id'] as string}/renew`;

    const { body: renewed } = await call('POST', path, { body: { ttl: 600 } });
    expect(Number(renewed['expires'])).toBeGreaterThan(Number(body['expires']) + 500);
    const refused = await call('POST', path, { body: { ttl: 7_200.5 } });
    expect(refused).toMatchObject({ status: 422, body: { code: 'max-hold-age' } });
    const longerThanToken = await call('POST', path, { body: { ttl: 86_401 } });
    expect(longerThanToken).toMatchObject({
      ...{ status: 422, body: { code: 'max-hold-age', longest_ttl: 7_200 } },
    });
    expect(longerThanToken.body['detail']).toMatch(/^max-hold-age of the configuration .* 7200 s: .* not for 86401 s$/);
    expect(await lease({ ttl: 7_201 })).toMatchObject({
      status: 422,
      body: { code: 'max-hold-age', longest_ttl: 7_200 },
    });
  });

  it('lasts an hour unless its request says otherwise, or as long as its token allows', async () => {
    await storeToken('hugo', { maxTtlMs: 600_000 });

    expect((await lease()).body).toMatchObject({ ttl: 3_600 });
    expect((await lease({}, { token: `hugo.${SECRET}` })).body).toMatchObject({ ttl: 600 });
  });

  it('waits for a day unless its request says otherwise, as its answer and its record say', async () => {
    const all = await lease({ labels: Array<string>(SLOTS).fill('small') });
    const waits = async ({ body }: Answer) => {
      const id = body['id'] as string;
      const { data } = await zk.getData(leasePath(id));
      const record = JSON.parse(data.toString()) as { created_time: number; due_time: number };
      const { created_time: created, gives_up: givesUp } = (await call('GET', `/leases/${id}`)).body;
      return [Number(givesUp) - Number(created), record.due_time - record.created_time].map(Math.round);
    };

    expect(all.body).toMatchObject({ state: 'active', gives_up: null });
    expect(await waits(await lease({ wait: 0 }))).toEqual([86_400, 86_400]);
    expect(await waits(await lease({ wait: 0, give_up: 300 }))).toEqual([300, 300]);
    expect(await waits(await lease({ wait: 0, give_up: 200_000 }))).toEqual([200_000, 200_000]);
  });

  it('is renewed for its own time to live without a body', async () => {
    const { body } = await lease({ ttl: 60 });
    const path = `/leases/${body['id'] as string}/renew`;
    await call('POST', path, { body: { ttl: 600 } });

    const { status, body: renewed } = await call('POST', path);

    expect(status).toBe(200);
    expect(renewed['ttl']).toBe(600);
    expect(Number(renewed['expires'])).toBeGreaterThan(Number(body['expires']) + 500);
  });

  it('is listed by its state, of which a wrong one is refused', async () => {
    const { body } = await lease();
    const idsIn = async (state: string) =>
      Object.values((await call('GET', `/leases?state=${state}`)).body).map((each) => (each as { id: string }).id);

    expect(await idsIn('active')).toEqual([body['id']]);
    expect(await idsIn('waiting')).toEqual([]);
    const detail =
      'There is no state "activ", did you mean "active"? States: waiting, active, ended, failed, open, all';
    expect(await call('GET', '/leases?state=activ')).toMatchObject({
      ...{ status: 400, body: { code: 'unknown-state', detail } },
    });
  });

  it('is listed without those that are over, page by page', async () => {
    const leases = [await lease(), await lease(), await lease()].map(({ body }) => body['id'] as string);
    await call('DELETE', `/leases/${leases[1] ?? ''}`);
    const headers = { authorization: `Bearer alice.${SECRET}` };

    const first = await fetch(url('/leases?limit=1'), { headers });
    const next = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await fetch(new URL(next, url('/')), { headers });
    const listed = [await first.json(), await second.json()] as { id: string }[][];

    expect(
      listed
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual([leases[0], leases[2]].sort());
    expect(second.headers.get('link')).toBe(null);
  });

  it('tells of its changes until it is over', async () => {
    const { body } = await lease();
    const path = `/leases/${body['id'] as string}`;
    const stream = await new Promise<IncomingMessage>((resolve) =>
      httpRequest(url(`${path}/events`), { headers: { authorization: `Bearer alice.${SECRET}` } }, resolve).end(),
    );
    void call('DELETE', path);
    let text = '';
    for await (const chunk of stream) text += String(chunk);

    const states = [...text.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    expect(states).toEqual(['active', 'ended']);
    expect(stream.headers['content-type']).toContain('text/event-stream');
  });
});

describe('what a token does not allow is refused:', () => {
  it.each([
    ['no token', null, 401, 'bad-token'],
    ['a wrong secret', 'alice.wrong', 401, 'bad-token'],
    ['an unknown name', `unknown.${SECRET}`, 401, 'bad-token'],
    ['a bare secret', SECRET, 401, 'bad-token'],
  ])('%s', async (_what, token, status, code) => {
    expect(await lease({}, { token })).toMatchObject({ status, body: { code } });
    expect(await call('GET', '/leases', { token })).toMatchObject({ status });
  });

  it.each([
    ['a key that is none', { ssh_key: `command="x" ${KEY}` }, 422, 'bad-ssh-key'],
    ['a key for nodes that take none', { ssh_key: KEY }, 422, 'no-ssh-key'],
    ['another owner', { owner: 'bob' }, 403, 'wrong-owner'],
    ['another label', { labels: ['big'] }, 403, 'label-not-allowed'],
    ['a higher priority', { priority: 100 }, 403, 'priority'],
    ['a longer time', { ttl: 601 }, 403, 'ttl-too-long'],
    ['more nodes', { labels: ['small', 'small', 'small'] }, 403, 'too-many-nodes'],
    ['an unknown label', { labels: ['smalll'] }, 422, 'unknown-label'],
    ['no label', { labels: [] }, 400, 'bad-request'],
    ['a label in place of a list', { labels: 'small' }, 400, 'bad-request'],
    ['a time that no date can hold', { ttl: 1e13 }, 400, 'bad-request'],
    ['an owner with control characters', { owner: 'a\u001b[31m' }, 400, 'bad-request'],
    ['an owner that is markup', { owner: '<b>a</b>' }, 400, 'bad-request'],
    ['an unknown field', { label: 'small' }, 400, 'bad-request'],
  ])('%s', async (_what, body, status, code) => {
    const rights = { labels: ['smal*'], maxTtlMs: 600_000, maxNodes: 2 };
    await storeToken('carol', rights).catch(() => undefined); // stored by the first case
    const refused = await lease({ ttl: 60, ...body }, { token: `carol.${SECRET}` });

    expect(refused).toMatchObject({ status, body: { code } });
  });

  it('a node for now, while one of an ended lease is being deleted', async () => {
    await storeToken('dora', { maxNodes: 1 });
    const dora = { token: `dora.${SECRET}` };
    const { body } = await lease({}, dora);
    expect(await lease({}, dora)).toMatchObject({ status: 403, body: { code: 'too-many-nodes' } });
    const [node] = body['nodes'] as { id: NodeId }[];
    const lock = new ZkLock(zk, nodeLockPath(node?.id as NodeId));
    await lock.acquire(); // nothing deletes it now
    await call('DELETE', `/leases/${body['id'] as string}`, dora);

    const refused = await lease({}, dora);
    await lock.release();

    const detail =
      'Token "dora" may have 1 node at a time; nodes of its ended leases are still being deleted: repeat it soon';
    expect(refused).toMatchObject({ status: 429, retryAfter: '1', body: { code: 'nodes-being-deleted', detail } });
    await vi.waitFor(async () => expect((await lease({}, dora)).status).toBe(200), { timeout: 5_000 });
  });

  it.each([
    [{ labels: 'small' }, '"labels" has the wrong type: send a list'],
    [{ label: 'small' }, 'The body has no "labels": add it'],
    [
      { labels: ['small'], label: 'small' },
      'The body has an unknown member "label": correct its name, or leave it out',
    ],
    [{ labels: ['small'], ttl: 1e13 }, '"ttl" must be <= 315360000'],
    [{ labels: ['small'], ttl: null }, '"ttl" is null: give it a value, or leave it out'],
    [{ labels: [] }, '"labels" is empty: give it a value'],
    [{ labels: ['small', ''] }, '"labels.1" is empty: give it a value'],
    [{ labels: Array<string>(101).fill('small') }, '"labels" has more than 100 entries: send fewer'],
    [{ labels: ['small'], reason: 'x'.repeat(1_001) }, '"reason" has more than 1000 characters: shorten it'],
    [
      { labels: ['small'], owner: '<b>' },
      '"owner" has characters that are not allowed, such as control characters: leave them out',
    ],
  ])('%j, with the reason and the fix', async (body, detail) => {
    expect((await call('POST', '/leases', { body })).body).toMatchObject({ code: 'bad-request', detail });
  });

  // Ends: TokensRefused NotSigned
  it('a token whose record comes from a program with access to ZooKeeper, but without the key, until it is revoked', async () => {
    const { data } = await zk.getData(leaseTokenPath('alice'));
    const forged = { ...(JSON.parse(data.toString()) as object), admin: true };
    await zk.create(leaseTokenPath('mallory'), Buffer.from(JSON.stringify(forged)));
    const conditions = async () => Object.values((await call('GET', '/conditions', { token: ADMIN })).body);
    const named = { type: 'TokensRefused', reason: 'NotSigned', name: 'nl01' };
    await expect.poll(conditions).toContainEqual(expect.objectContaining(named));

    const refusal = { status: 401, body: { code: 'token-not-signed' } };
    expect(await call('GET', '/leases', { token: `mallory.${SECRET}` })).toMatchObject(refusal);
    expect(await lease({}, { token: `mallory.${SECRET}` })).toMatchObject(refusal);
    await zk.delete(leaseTokenPath('mallory')); // nodepool token revoke
    await expect.poll(conditions).not.toContainEqual(expect.objectContaining(named));
  });

  it('a token that was revoked, at once', async () => {
    await storeToken('dave');
    await zk.delete(leaseTokenPath('dave'));

    await expect.poll(async () => (await lease({}, { token: `dave.${SECRET}` })).status).toBe(401);
  });

  it('a stream of a token that is revoked', async () => {
    await storeToken('gina');
    const token = `gina.${SECRET}`;
    const { body } = await lease({}, { token });
    const headers = { authorization: `Bearer ${token}` };
    const stream = await new Promise<IncomingMessage>((resolve) =>
      httpRequest(url(`/leases/${body['id'] as string}/events`), { headers }, resolve).end(),
    );
    await zk.delete(leaseTokenPath('gina'));
    let text = '';
    for await (const chunk of stream) text += String(chunk);

    expect(text).toContain('"state":"active"');
    expect(text).not.toContain('"state":"ended"');
    expect(await call('GET', '/leases', { token })).toMatchObject({ status: 401 });
  });

  it('a token that has expired', async () => {
    await storeToken('erin', { endTimeMs: Date.now() + 1_000 });
    await expect.poll(async () => (await lease({}, { token: `erin.${SECRET}` })).status, { timeout: 5_000 }).toBe(401);
  });

  it('leases of another owner, unless the token is an admin', async () => {
    const { body } = await lease();
    const path = `/leases/${body['id'] as string}`;
    const bob = { token: `bob.${SECRET}` };

    expect(await call('GET', '/leases', bob)).toMatchObject({ status: 200, body: [] });
    for (const [method, target] of [
      ['GET', path],
      ['DELETE', path],
      ['POST', `${path}/renew`],
      ['GET', `${path}/events`],
    ] as const) {
      expect(await call(method, target, bob)).toMatchObject({ status: 404, body: { code: 'unknown-lease' } });
    }
    expect((await call('GET', path, { token: ADMIN })).body).toMatchObject({ owner: 'alice' });
    const owned = await lease({ owner: 'team' }, { token: ADMIN });
    expect(owned.body).toMatchObject({ owner: 'team' });
  });
});

it('says what a token allows', async () => {
  await storeToken('frank', { owner: 'team', labels: ['smal*'], maxTtlMs: 600_000, maxNodes: 2, tenantName: 't' });
  const rightsOf = (token: string | null) => call('GET', '/lease-rights', { token });

  expect((await rightsOf(`frank.${SECRET}`)).body).toEqual({
    ...{ name: 'frank', owner: 'team', labels: ['smal*'], max_ttl: 600, max_nodes: 2 },
    ...{ highest_priority: 200, tenant_name: 't', admin: false, operator: false },
  });
  const maxHoldAge = 7_200;
  expect((await rightsOf(ADMIN)).body).toMatchObject({
    name: 'root',
    max_ttl: maxHoldAge,
    admin: true,
    operator: true,
  });
  expect(await rightsOf('wrong')).toMatchObject({ status: 401, body: { code: 'bad-token' } });
});

it('shows nothing of leases to those without a token', async () => {
  const { body } = await lease({ reason: 'the-secret-reason' });
  expect(body).toMatchObject({ state: 'active' });

  const base = url('').replace('/api/v1', '');
  const paths = [
    'node-list',
    'request-list',
    'api/v1/nodes',
    'api/v1/requests',
    'api/v1/overview',
    'metrics',
    'healthz',
  ];
  const texts = await Promise.all(paths.map(async (path) => (await fetch(`${base}/${path}`)).text()));
  expect((await call('GET', '/lease-rights', { token: null })).status).toBe(401);
  expect(texts.join('\n')).not.toMatch(/alice|the-secret-reason/);
});
