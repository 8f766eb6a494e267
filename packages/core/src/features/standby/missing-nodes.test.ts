import { beforeEach, expect, it } from 'vitest';
import { labelled, told } from '../../../test/support/conditions.js';
import { silentLogger } from '../../contract/logger.js';
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

it('names what is used up where no further node can be made', async () => {
  let limit = 1;
  const quota = {
    quotaNeededByLabel: () => ({ instances: 1 }),
    estimatedNodepoolQuota: () => ({ instances: limit }),
    invalidateQuotaCache: () => undefined,
  };
  world = new RackWorld({ quota }, silentLogger, true);
  const launcher = await world.startLauncher(labelled(3));
  await world.createNodes([{}]);
  await world.settle();
  const missing = () => launcher.conditions.find().find(({ type }) => type === 'StandbyMissing');
  missing();
  await world.clock.advance(MINUTE_MS);

  const short = missing();
  limit = 3;

  expect(short).toMatchObject({
    message: 'it has 1 of 3 standby nodes, and 0 are being made: provider "rack": label "a" needs 1 instance, 0 free',
    nextStep: 'raise that limit, or keep fewer standby nodes; nodepool explain --label a',
  });
  expect(missing()?.message).toMatch(/being made$/);
});
