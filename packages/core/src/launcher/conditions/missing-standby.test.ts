import { beforeEach, expect, it } from 'vitest';
import { labelled, told } from '../../../test/support/conditions.js';
import { RackWorld } from '../../../test/support/rack-world.js';

const MINUTE_MS = 60_000;

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

// Ends: StandbyMissing TooFew
it('a label lacks standby nodes once they have been missing for a minute', async () => {
  const launcher = await world.startLauncher(labelled(1));
  const standby = () => told(launcher).filter((each) => each.includes('Standby'));

  const atOnce = standby();
  await world.clock.advance(MINUTE_MS);
  const later = standby();
  await world.createNodes([{}]);
  await world.settle();

  expect([atOnce, later, standby()]).toEqual([[], ['label a StandbyMissing TooFew'], []]);
});
