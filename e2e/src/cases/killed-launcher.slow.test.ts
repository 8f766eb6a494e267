import { describe, expect, it } from 'vitest';
import type { FrameProxy, Verdict } from '../frame-proxy.js';
import type { LauncherProcess } from '../launcher-process.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';
import type { HeldNode } from '../zuul-client.js';

const MAX_STEPS = 60;

const get = useStatic({
  zookeeper: { tickMs: 200, minSessionTimeoutMs: 1000 },
  sshd: { count: 2, keyTypes: ['ed25519'] },
});

interface Victim {
  proxy: FrameProxy;
  launcher: LauncherProcess;
}

/** Starts a launcher that a trap can kill right before any packet it sends. */
async function startVictim(name: string): Promise<Victim> {
  const proxy = await get().newProxy();
  const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'), { zookeeperTimeoutSeconds: 1.5 });
  return { proxy, launcher: await get().launch(setup, { name, throughPort: proxy.port }) };
}

/**
 * Repeats some work and kills the launcher right before its packet 1, 2, 3 and so on. The successor finishes the work
 * and is killed in the next round.
 * @returns number of the round whose work took fewer packets than that
 */
async function killAtEachPacket(prepare: () => Promise<void>, work: () => Promise<void>): Promise<number> {
  let victim = await startVictim('launcher-0');
  for (let step = 1; step <= MAX_STEPS; step += 1) {
    const { launcher, proxy } = victim;
    await get().assertClean();
    await prepare();
    let successor: Promise<Victim> | undefined;
    proxy.trap(step, async (): Promise<Verdict> => {
      const killed = launcher.kill();
      successor = killed.then(() => startVictim(`launcher-${step}`));
      await killed;
      return 'cut';
    });
    await work();
    // The packet may come after the requestor's work is done; the successor may then still be starting.
    await successor;
    await get().assertClean();
    if (successor === undefined) return step;
    victim = await successor;
  }
  return MAX_STEPS;
}

describe('a launcher killed', () => {
  it('while fulfilling a request leaves it to its successor, at any packet', async () => {
    const zuul = await get().newClient();

    const steps = await killAtEachPacket(
      () => Promise.resolve(),
      async () => {
        const id = await zuul.submit(['small', 'small']);
        await zuul.finish(id);
      },
    );

    expect(steps).toBeGreaterThan(2);
    expect(steps).toBeLessThan(MAX_STEPS);
  }, 600_000);

  it('while taking back a node leaves that to its successor, at any packet', async () => {
    const zuul = await get().newClient();
    let nodes: HeldNode[] = [];

    const steps = await killAtEachPacket(
      async () => {
        nodes = await zuul.getNodes(['small']);
      },
      async () => {
        await zuul.giveBack(nodes);
      },
    );

    expect(steps).toBeGreaterThan(1);
    expect(steps).toBeLessThan(MAX_STEPS);
  }, 600_000);
});
