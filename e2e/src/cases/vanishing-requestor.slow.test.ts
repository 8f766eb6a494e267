import { describe, expect, it } from 'vitest';
import type { Verdict } from '../frame-proxy.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';
import { RequestGoneError } from '../wait-for-request.js';
import { AcceptError } from '../zuul-client.js';

const MAX_STEPS = 60;

const get = useStatic({ sshd: { count: 2, keyTypes: ['ed25519'] } });

const launch = (throughPort?: number) => get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), { throughPort });

describe('a requestor that vanishes', () => {
  it('at any packet that the launcher sends for its request leaves no record behind', async () => {
    const proxy = await get().newProxy();
    await launch(proxy.port);
    const zuul = await get().newClient();
    await get().assertClean();
    let step = 0;
    let hasFired = true;

    // One round per packet of the launcher since the submission, until no packet is left to trap.
    while (hasFired && step < MAX_STEPS) {
      step += 1;
      let id = '';
      let submitted = (): void => undefined;
      const known = new Promise<void>((resolve) => (submitted = resolve));
      proxy.trap(step, async (): Promise<Verdict> => {
        await known;
        await zuul.cancel(id);
        return 'forward';
      });
      id = await zuul.submit(['small', 'small']);
      submitted();
      await zuul.wait(id).catch((error: unknown) => {
        if (!(error instanceof RequestGoneError)) throw error;
      });
      await zuul.cancel(id);
      await get().assertClean();
      hasFired = proxy.hasFired;
    }

    expect(step).toBeGreaterThan(2);
    expect(step).toBeLessThan(MAX_STEPS);
  }, 300_000);

  it('after its request was fulfilled frees the nodes', async () => {
    await launch();
    const zuul = await get().newClient();
    const id = await zuul.submit(['small', 'small']);
    await zuul.wait(id);

    await zuul.cancel(id);

    await expect(zuul.accept(id)).rejects.toThrow(AcceptError);
    await get().assertClean();
  });

  it('with some of the nodes locked frees all of them', async () => {
    await launch();
    const scheduler = await get().newClient();
    const executor = await get().newClient();
    const id = await scheduler.submit(['small', 'small']);
    await scheduler.wait(id);

    const nodes = await executor.accept(id);
    await executor.use(nodes.slice(0, 1));
    await executor.zk.close();

    await get().assertClean();
    expect(nodes).toHaveLength(2);
  });
});
