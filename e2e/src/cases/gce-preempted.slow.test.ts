import { expect, it } from 'vitest';
import { gceSetup } from '../gce-harness.js';
import { useGce } from '../use-harness.js';

/** What Google took away is looked for every minute. */
const NOTICED_MS = 90_000;

const get = useGce();

it('a Spot VM that stood by and was taken away is withdrawn before a job gets it', async () => {
  const { fake } = get().cloud;
  const launcher = await get().launch(gceSetup({ label: { spot: true } }));
  const zuul = await get().newClient();
  const id = await zuul.submit(['debian']);
  const { nodes = [] } = await zuul.wait(id);
  await zuul.cancel(id);

  fake.cloud.preempt(`np${nodes[0]}`);
  await launcher.whenLogged(/Google took the Spot VM away.*state=ready/, 0, NOTICED_MS);

  await get().assertClean();
  expect(fake.countOf('Instances.Delete')).toBe(1);
});
