import { VirtualClock } from '../../testing/virtual-clock.js';
import { describe, expect, it } from 'vitest';
import { CloudOrders } from './cloud-orders.js';

const never = new AbortController().signal;
const alive = { sessionLeftMs: 10_000 };

describe('CloudOrders', () => {
  it('ends when all orders have ended, whatever came of them', async () => {
    const orders = new CloudOrders(alive, new VirtualClock());
    const events: string[] = [];
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const made = orders.give(() => answered.then(() => events.push('made')), never);
    const refused = orders.give(() => Promise.reject(new Error('quota')), never);

    const ended = orders.end().then(() => events.push('ended'));
    await expect(refused).rejects.toThrow('quota');
    answer();
    await Promise.all([made, ended]);

    expect(events).toEqual(['made', 'ended']);
  });

  it('begins none after the end: such an order waits for the abort', async () => {
    const orders = new CloudOrders(alive, new VirtualClock());
    const abort = new AbortController();
    await orders.end();

    const given = orders.give(() => Promise.reject(new Error('it was given')), abort.signal);
    abort.abort(new Error('the launcher stops'));

    await expect(given).rejects.toThrow('the launcher stops');
  });

  it('begins none while the session may have ended: another launcher may have the node', async () => {
    const clock = new VirtualClock();
    const zk = { sessionLeftMs: 0 };
    const orders = new CloudOrders(zk, clock);
    const given: string[] = [];
    const give = (name: string, signal: AbortSignal) =>
      orders.give(() => Promise.resolve(given.push(name)), signal).catch(() => given.push(`${name} aborted`));
    const lost = new AbortController();
    const waiting = Promise.all([give('for a node that is ours', never), give('for a lost node', lost.signal)]);

    await clock.advance(10_000);
    const meanwhile = [...given];
    lost.abort(new Error('the session was lost'));
    zk.sessionLeftMs = 10_000;
    await clock.run(waiting);

    expect(meanwhile).toEqual([]);
    expect(given).toEqual(['for a lost node aborted', 'for a node that is ours']);
  });
});
