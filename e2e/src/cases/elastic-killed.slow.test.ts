import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import type { FrameProxy, Verdict } from '../frame-proxy.js';
import type { LauncherProcess } from '../launcher-process.js';
import { useElastic } from '../use-harness.js';

const MAX_STEPS = 60;
/** An instance without a record is deleted after two sweeps, a minute apart, have seen it. */
const LEAKS_FOUND_MS = 150_000;

const get = useElastic({ tickMs: 200, minSessionTimeoutMs: 1000 });
const setup = oneProvider(
  { maxServers: 6 },
  { more: { 'zookeeper-timeout': 1.5 }, cloudSettings: { 'create-time': 0.05 } },
);

interface Victim {
  proxy: FrameProxy;
  launcher: LauncherProcess;
}

async function startVictim(name: string): Promise<Victim> {
  const proxy = await get().newProxy();
  return { proxy, launcher: await get().launch(setup, { name, throughPort: proxy.port }) };
}

it('a launcher killed at any packet of a launch leaves the request to its successor and no instance in the cloud', async () => {
  const zuul = await get().newClient();
  let victim = await startVictim('launcher-0');
  let steps = 1;
  for (; steps < MAX_STEPS; steps += 1) {
    const { launcher, proxy } = victim;
    let successor: Promise<Victim> | undefined;
    const name = `launcher-${steps}`;
    proxy.trap(steps, async (): Promise<Verdict> => {
      const killed = launcher.kill();
      successor = killed.then(() => startVictim(name));
      await killed;
      return 'cut';
    });
    await zuul.finish(await zuul.submit(['small', 'small']));
    // Wait here: packets of a starting successor would trigger the trap of the next round too early.
    if (successor === undefined) break;
    victim = await successor;
  }
  await get().assertClean(LEAKS_FOUND_MS);

  expect(steps).toBeGreaterThan(5);
  expect(steps).toBeLessThan(MAX_STEPS);
}, 600_000);
