import { describe, expect, it } from 'vitest';
import { useControlPlane } from './real-world.js';

const { plane, world: start, objects } = useControlPlane();

/** Nodes at once; `NODEPOOL_KUBERNETES_NODES` says otherwise. */
const COUNT = Number(process.env['NODEPOOL_KUBERNETES_NODES'] ?? 200);

describe(`${COUNT} nodes at once`, () => {
  it.each(['space', 'small'])('of label "%s" are ready, and then gone', async (label) => {
    const before = await objects();
    const world = await start();
    const cpuBefore = process.cpuUsage();
    const apiBefore = await plane().apiCpuSeconds();
    const beganMs = performance.now();

    const results = await Promise.all(Array.from({ length: COUNT }, () => world.launch(label)));
    const readyMs = performance.now() - beganMs;
    const launchCalls = world.calls.length;
    await Promise.all(results.map(({ node }) => world.cleanUp(node)));
    const goneMs = performance.now() - beganMs - readyMs;

    const { user, system } = process.cpuUsage(cpuBefore);
    const each = (amount: number) => Number((amount / COUNT).toFixed(2));
    const figures = {
      ...{ nodes: COUNT, readyMs: Math.round(readyMs), goneMs: Math.round(goneMs) },
      ...{ callsPerNode: each(world.calls.length), ofLaunch: each(launchCalls) },
      ...{
        cpuMsPerNode: each((user + system) / 1_000),
        apiCpuMsPerNode: each(((await plane().apiCpuSeconds()) - apiBefore) * 1_000),
      },
    };
    process.stdout.write(`${label}: ${JSON.stringify(figures)}\n`);
    expect(results.filter(({ state }) => state !== 'ready')).toEqual([]);
    expect(await objects()).toEqual(before);
    expect(world.calls.length / COUNT).toBeLessThan(12);
  });
});
