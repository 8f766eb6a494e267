import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { NEW_TRIAL, withTrial } from '@nodepool/core/service';
import {
  buildPath,
  CONTROLS_ROOT,
  controlPath,
  decodeLease,
  encodeBuild,
  encodeControl,
  encodeLease,
  encodeRequest,
  newBuild,
  newControl,
  newLease,
  newRequest,
  LEASE_REQUESTOR,
  leasePath,
  NODES_ROOT,
  nodePath,
  requestCreatePath,
  REQUESTS_ROOT,
  withLease,
  type LauncherId,
  type LeaseRecord,
  type NodeId,
} from '@nodepool/zk-protocol';
import { expect, it, onTestFinished, vi } from 'vitest';
import { PROGRAM } from '../../test/program.js';
import { BUILD, RACK_ID, useWorld } from '../../test/world.js';

const get = useWorld();
const ORIGINAL = 'original-PoolWorker.rack-main-1' as LauncherId;
const STOPPED = { state: 'testing', launchState: { start: true } } as const;
const SOON = { timeout: 20_000, interval: 50 };

async function createLease(id: string, state: LeaseRecord['state']): Promise<void> {
  const { zk } = get();
  const dueTimeMs = state === 'active' ? Date.now() + 3_600_000 : null;
  const fields = { labels: ['small'], ttlMs: 60_000, digest: 'd', dueTimeMs, slots: [], keeper: 'k' };
  const lease = newLease({ id, owner: 'alice', token: 'alice', ...fields }, Date.now());
  await zk.ensurePath('/nodepool/leases');
  await zk.create(leasePath(id), encodeLease(withLease(lease, { state }, Date.now())));
}

async function createLeaseRequest(): Promise<void> {
  const { zk } = get();
  await zk.ensurePath(REQUESTS_ROOT);
  const request = newRequest(
    { labels: ['small'], requestor: LEASE_REQUESTOR, requestorData: { lease: 'l1' } },
    Date.now(),
  );
  await zk.create(requestCreatePath(200), encodeRequest(request), { sequential: true });
}

async function createOrder(): Promise<void> {
  const { zk } = get();
  const order = newControl({ kind: 'label', name: 'small', mode: 'limit', limit: 1, owner: 'bob' }, Date.now());
  await zk.ensurePath(`${CONTROLS_ROOT}/label`);
  await zk.create(controlPath(order), encodeControl(order));
}

const stateOf = async (id: string) =>
  (JSON.parse((await get().zk.getData(nodePath(id as NodeId))).data.toString()) as { state: string }).state;
const leaseState = async (id: string) =>
  decodeLease(id, (await get().zk.getData(leasePath(id))).data, undefined)?.state;
const exists = async (path: string) => (await get().zk.exists(path)) !== undefined;

/** Starts the command in a process of its own, without input. */
function start(...args: string[]) {
  const argv = [PROGRAM, ...get().options(), 'rollback', ...args];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, exited: once(child, 'exit'), output: Promise.all([text(child.stdout), text(child.stderr)]) };
}

/** Both kinds of launchers, and all that the original would not finish. */
async function begin(): Promise<{ spare: string; ours: string }> {
  const ours = await get().registerRack(['small'], { firstPoolPauseMs: 0 });
  await get().registerRack(['small'], { launcherId: ORIGINAL, firstPoolPauseMs: null });
  const spare = await get().createNode({ provider: 'rack', ...STOPPED });
  await get().createNode({ provider: 'rack', state: 'building', launcher: RACK_ID });
  await createLease('l1', 'waiting');
  await createLease('l2', 'active');
  await createLeaseRequest();
  await createOrder();
  return { spare, ours };
}

it('nodepool rollback --check lists what the original would not finish, and changes nothing', async () => {
  const { spare } = await begin();

  const { status, stdout } = await get().call('rollback', '--check');

  expect(stdout).toMatch(
    /^stopped spares: 1 \(\d+\)\nwaiting leases: 1 \(l1 of alice\)\nactive leases: 1 \(l2 of alice until [-0-9T:.]+Z\)\nrequests of leases: 1 \(200-\d+\)\norders: 1 \(label small \(limit\)\)\nlaunches in progress: 1 \(\d+ \(building\)\)\nnodepool rollback ends this, or waits for it\n$/,
  );
  expect([status, await stateOf(spare), await leaseState('l1')]).toEqual([1, 'testing', 'waiting']);
});

it('nodepool rollback --check has nothing to say where the original serves alone, and names labels that it lacks', async () => {
  await get().registerRack(['small'], { launcherId: ORIGINAL, firstPoolPauseMs: null });
  const alone = await get().call('rollback', '--check');
  await get().registerRack(['small', 'big'], { firstPoolPauseMs: 0 });
  const beside = await get().call('rollback', '--check');

  expect(alone).toMatchObject({ status: 0, stdout: 'nothing is left to do\n' });
  expect(beside.status).toBe(1);
  expect(beside.stdout).toBe('no launcher of the original has label(s) big: start it before the next step\n');
});

it('nodepool rollback --check names free and held nodes whose token ends', async () => {
  const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  const portOf = (claims: object) => ({ namespace: 'main-1', token: tokenOf(claims) });
  const ending = { connectionPort: portOf({ iat: 1, exp: 2 }) };
  const free = await get().createNode({ state: 'ready', ...ending });
  const held = await get().createNode({ state: 'hold', ...ending });
  await get().createNode({ state: 'in-use', ...ending });
  await get().createNode({ state: 'ready', connectionPort: portOf({ iat: 1 }) });

  const { status, stdout } = await get().call('rollback', '--check');

  expect([status, stdout]).toEqual([
    1,
    `tokens of node(s) ${free}, ${held} end, and the original renews none: set token-expiry: 0, and delete these nodes\n`,
  ]);
});

it('nodepool rollback --check names images with a build on trial, which the original would use for all launches', async () => {
  const key = { image: 'debian-12', id: BUILD };
  const build = newBuild(key, { state: 'ready', formats: ['qcow2'] }, Date.now());
  const tried = withTrial(build, NEW_TRIAL);
  await get().createBuild();
  await get().zk.setData(buildPath(key.image, key.id), encodeBuild(tried));
  const during = await get().call('rollback', '--check');
  await get().createBuild();
  const after = await get().call('rollback', '--check');

  const advice = 'the original uses the build of debian-12 on trial for all launches: promote or roll it back\n';
  expect(during).toMatchObject({ status: 1, stdout: advice });
  expect(after).toMatchObject({ status: 0, stdout: 'nothing is left to do\n' });
});

it('nodepool rollback ends what may be ended, pauses, waits for the rest, and ends with the last launcher', async () => {
  const { spare, ours } = await begin();
  const { zk } = get();
  const { child, output, exited } = start('--yes', '--end-leases');
  const pause = controlPath({ kind: 'provider', name: 'rack' });

  await vi.waitFor(async () => expect([await stateOf(spare), await exists(pause)]).toEqual(['deleting', true]), SOON);
  const order = controlPath({ kind: 'label', name: 'small' });
  const ended = async () => [await leaseState('l1'), await leaseState('l2'), await exists(order)];
  await vi.waitFor(async () => expect(await ended()).toEqual(['ended', 'ended', false]), SOON);
  const requests = (await zk.getChildren(REQUESTS_ROOT)).length; // a launcher removes it, while there is one
  for (const id of await zk.getChildren(NODES_ROOT)) await zk.deleteRecursive(nodePath(id as NodeId));
  await zk.delete(ours);
  await exited;

  const [stdout, stderr] = await output;
  expect([child.exitCode, requests, await zk.getChildren(REQUESTS_ROOT)]).toEqual([0, 1, []]);
  expect(await exists(pause)).toBe(false);
  expect(stderr).toContain('nodepool: waiting for ');
  expect(stdout).toMatch(
    /Done: no launcher of this project is left, and nothing that the original would not finish\.\n.*\n$/,
  );
});

it('nodepool rollback says what it waits for once, although leases are renewed meanwhile', async () => {
  await get().registerRack(['small'], { firstPoolPauseMs: 0 });
  await createLease('l2', 'active');
  const { child, output, exited } = start('--yes');
  const pause = controlPath({ kind: 'provider', name: 'rack' });
  await vi.waitFor(async () => expect(await exists(pause)).toBe(true), SOON);

  for (const [round, waiting] of ['w1', 'w2', 'w3', 'w4'].entries()) {
    const lease = decodeLease('l2', (await get().zk.getData(leasePath('l2'))).data, undefined) ?? expect.fail();
    const renewed = withLease(lease, { dueTimeMs: Date.now() + (round + 2) * 3_600_000 }, Date.now());
    await get().zk.setData(leasePath('l2'), encodeLease(renewed));
    await createLease(waiting, 'waiting'); // ends once the command has looked again
    await vi.waitFor(async () => expect(await leaseState(waiting)).toBe('ended'), SOON);
  }
  child.kill('SIGINT');
  await exited;

  const [, stderr] = await output;
  expect(stderr).toBe('nodepool: waiting for active leases: 1 (l2 of alice) (--end-leases ends active leases)\n');
});

it('nodepool rollback changes nothing when it is not confirmed', async () => {
  const { spare } = await begin();

  const { child, output, exited } = start();
  await exited;

  const [stdout] = await output;
  expect([child.exitCode, await stateOf(spare)]).toEqual([1, 'testing']);
  expect(stdout).toMatch(
    /Launchers on \S+ accept no requests meanwhile\. \[N\/y\] Aborting\. Nothing was changed\.\n$/,
  );
});
