import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { UncertainOrders } from './uncertain-orders.js';

it('are a condition after 20 s, over several launches, until one makes an instance or none is tried any more', async () => {
  const clock = new VirtualClock();
  const orders = new UncertainOrders(clock);
  const reasons = () => orders.conditions('sky').map(({ reason, message }) => `${reason}: ${message}`);

  orders.add('first');
  await clock.advance(15_000);
  const early = reasons();
  orders.add('500');
  await clock.advance(10_000);
  const late = reasons();
  await clock.advance(51_000);
  const quiet = reasons();
  orders.add('new series');
  await clock.advance(15_000);
  const begun = reasons();
  orders.add('again');
  await clock.advance(10_000);
  orders.end();

  expect(late).toEqual(['Unavailable: orders of instances are answered with errors: 500']);
  expect([early, quiet, begun, reasons()]).toEqual([[], [], [], []]);
});
