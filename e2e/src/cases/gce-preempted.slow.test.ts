import { expect, it } from 'vitest';
import { gceSetup } from '../gce-harness.js';
import { useGce } from '../use-harness.js';

/** The driver looks for preempted VMs every minute. */
const NOTICED_MS = 90_000;

const get = useGce();

it('a preempted Spot VM on standby is withdrawn before a job receives it', async () => {
  const { fake } = get().cloud;
  const launcher = await get().launch(gceSetup({ label: { spot: true } }));
  const zuul = await get().newClient();
  const id = await zuul.submit(['debian']);
  const { nodes = [] } = await zuul.wait(id);
  await zuul.cancel(id);

  fake.cloud.preempt(`np${nodes[0]}`);
  await launcher.whenLogged(/Google preempted the Spot VM.*state=ready/, 0, NOTICED_MS);

  await get().assertClean();
  expect(fake.countOf('Instances.Delete')).toBe(1);
});
