import { describe, expect, it } from 'vitest';
import { CloudOrders } from './cloud-orders.js';

const never = new AbortController().signal;

describe('CloudOrders', () => {
  it('ends when all orders have ended, whatever came of them', async () => {
    const orders = new CloudOrders();
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
    const orders = new CloudOrders();
    const abort = new AbortController();
    await orders.end();

    const given = orders.give(() => Promise.reject(new Error('it was given')), abort.signal);
    abort.abort(new Error('the launcher stops'));

    await expect(given).rejects.toThrow('the launcher stops');
  });
});
