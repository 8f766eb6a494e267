import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/core';
import { ApiAccess, ControlPlane, ensureBuilt, namesOf, programFolder, StandInKubelet } from '@nodepool/kubernetes';
import { World, type WorldOptions } from '../world.js';

let plane: ControlPlane;
let kubelet: StandInKubelet;
let worlds: World[] = [];

beforeAll(async () => {
  plane = await ControlPlane.start({ programs: await ensureBuilt(programFolder(process.env)) });
  kubelet = await StandInKubelet.start(plane.admin);
});

afterEach(async () => {
  for (const world of worlds) await world.end();
  worlds = [];
});

afterAll(async () => {
  await kubelet.stop();
  await plane.stop();
});

async function start(options: Partial<WorldOptions> = {}): Promise<World> {
  const entry = { kubeconfig: await plane.adminKubeconfig(), pools: [POOL], ...options.entry };
  const world = await World.start({ ...options, entry });
  worlds.push(world);
  return world;
}

const POD = { name: 'small', type: 'pod', image: 'debian', cpu: 1, memory: 64 };
const POOL = { name: 'main', labels: [{ name: 'space', type: 'namespace' }, POD] };
const namespaces = () => namesOf(plane.admin, 'api/v1/namespaces');

function portOf(node: NodeRecord): Record<string, string> {
  return node.connectionPort as Record<string, string>;
}

describe('a node of a real cluster', () => {
  it('is a namespace in which its token may work, and nowhere else', async () => {
    const before = await namespaces();
    const world = await start();
    const { state, node } = await world.launch('space');

    expect(state).toBe('ready');
    expect(node).toMatchObject({ externalId: 'main-0000000001', connectionType: 'namespace', interfaceIp: null });
    const { token, host = '', ca_crt = '', namespace } = portOf(node);
    const job = new ApiAccess(host, { ca: Buffer.from(ca_crt, 'base64').toString(), token: token ?? '' });
    const inside = await job.call('POST', `api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'a' } });
    const outside = await job.call('GET', 'api/v1/namespaces/default/pods');
    await job.close();
    expect([inside.status, outside.status]).toEqual([201, 403]);

    await world.cleanUp(node);
    expect(await namespaces()).toEqual(before);
    expect(world.calls.length).toBeLessThanOrEqual(9);
  });

  it('is a pod', async () => {
    const before = await namespaces();
    const world = await start();
    const { state, node, error } = await world.launch('small');

    expect(error).toBeUndefined();
    expect(state).toBe('ready');
    expect(node).toMatchObject({ connectionType: 'kubectl', interfaceIp: 'small', hostId: 'stand-in' });
    expect(portOf(node)).toMatchObject({ pod: 'small', namespace: 'main-0000000001', user: 'zuul-worker' });

    await world.cleanUp(node);
    expect(await namespaces()).toEqual(before);
  });
});
