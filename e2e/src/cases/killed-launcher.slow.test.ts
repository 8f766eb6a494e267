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

/** A launcher that can be killed right before any packet it sends. */
async function startVictim(name: string): Promise<Victim> {
  const proxy = await get().newProxy();
  const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'), { zookeeperTimeoutSeconds: 1.5 });
  return { proxy, launcher: await get().launch(setup, { name, throughPort: proxy.port }) };
}

/**
 * Goes through all packets a launcher sends for some work: in each round it is killed before the next packet and
 * another one started, which has to finish the work and is the next to be killed.
 * @returns the number of the round in which the work was done before the packet came
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
    // the packet may be one of those after what the requestor sees: the successor may only be starting
    await successor;
    await get().assertClean();
    if (successor === undefined) return step;
    victim = await successor;
  }
  return MAX_STEPS;
}

describe('a launcher killed', () => {
  it('at any point of fulfilling a request leaves it to another, which finishes it', async () => {
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

  it('at any point of taking a node back leaves that to another, which finishes it', async () => {
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
