import { describe, expect, it } from 'vitest';
import type { Verdict } from '../frame-proxy.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const MAX_STEPS = 60;

const get = useStatic({ sshd: { count: 3, keyTypes: ['ed25519'] } });

/** Runs one request after another, each to the end, and breaks the launcher's connection at packet 1, 2, 3 and so on. */
async function breakAtEachPacket(verdict: Verdict): Promise<number> {
  const proxy = await get().newProxy();
  await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), { throughPort: proxy.port });
  const zuul = await get().newClient();
  for (let step = 1; step <= MAX_STEPS; step += 1) {
    await get().assertClean();
    proxy.trap(step, () => verdict);
    const ids = await Promise.all([zuul.submit(['small', 'small']), zuul.submit(['small'])]);
    for (const id of ids) {
      const { state } = await zuul.wait(id);
      expect(state, `step ${step}`).toBe('fulfilled');
      const nodes = await zuul.accept(id);
      await zuul.use(nodes);
      await zuul.giveBack(nodes);
    }
    await get().assertClean();
    if (!proxy.hasFired) return step;
  }
  return MAX_STEPS;
}

describe('a launcher whose connection breaks', () => {
  it('right before it sends any packet loses no request and no node', async () => {
    const steps = await breakAtEachPacket('cut');

    expect(steps).toBeGreaterThan(3);
    expect(steps).toBeLessThan(MAX_STEPS);
  }, 300_000);

  it('between sending any packet and reading the answer loses no request and no node', async () => {
    const steps = await breakAtEachPacket('lose-answer');

    expect(steps).toBeGreaterThan(3);
    expect(steps).toBeLessThan(MAX_STEPS);
  }, 300_000);
});
