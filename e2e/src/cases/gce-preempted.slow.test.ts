import { expect, it } from 'vitest';
import { gceSetup } from '../gce-harness.js';
import { useGce } from '../use-harness.js';

/** The launcher looks at the machines of its nodes every 20 s, twice before it withdraws one. */
const NOTICED_MS = 60_000;

const get = useGce();

it('a preempted Spot VM on standby is withdrawn before a job receives it', async () => {
  const { fake } = get().cloud;
  const launcher = await get().launch(gceSetup({ label: { spot: true } }));
  const zuul = await get().newClient();
  const id = await zuul.submit(['debian']);
  const { nodes = [] } = await zuul.wait(id);
  await zuul.cancel(id);

  fake.cloud.preempt(`np${nodes[0]}`);
  await launcher.whenLogged(
    /The machine of a node cannot be used any more.*state=ready.*Spot VM that it has preempted/,
    0,
    NOTICED_MS,
  );

  await get().assertClean();
  expect(fake.countOf('Instances.Delete')).toBe(1);
});
