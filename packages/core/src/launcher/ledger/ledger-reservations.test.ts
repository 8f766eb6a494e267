import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { Reservation } from '../plan/types.js';
import { Ledger } from './ledger.js';

async function openLedger(): Promise<Ledger> {
  const { context } = await ServiceWorld.open();
  return new Ledger(context, { runnerOf: () => undefined });
}

function reservation(number: number, instances = 1): Reservation {
  const id = `200-000000000${number}` as RequestId;
  return { request: { ...newRequest({ labels: ['a'] }, 0), id }, need: { instances } };
}

it('shows a pool the reservations of its provider’s other pools', async () => {
  const ledger = await openLedger();
  ledger.reserve('p', 'main', [reservation(1), reservation(2)]);
  ledger.reserve('p', 'other', [reservation(3)]);
  ledger.reserve('q', 'main', [reservation(4)]);

  expect(ledger.reservationsOf('p', 'main')).toEqual([reservation(1), reservation(2)]);
  expect(ledger.reservationsBesides('p', 'main')).toEqual([reservation(3)]);
  expect(ledger.reservationsBesides('q', 'main')).toEqual([]);

  ledger.reserve('p', 'other', []);
  expect(ledger.reservationsBesides('p', 'main')).toEqual([]);
});

it('shows a pool the first waiting requests of its provider’s other pools', async () => {
  const ledger = await openLedger();
  ledger.reserveHead('p', 'main', reservation(1));
  ledger.reserveHead('p', 'other', reservation(2));

  expect(ledger.headsBesides('p', 'main')).toEqual([reservation(2)]);
  expect(ledger.headsBesides('p', 'third')).toEqual([reservation(1), reservation(2)]);
  expect(ledger.headsBesides('q', 'main')).toEqual([]);
});

it.each([
  ['nothing was reserved', undefined, reservation(1), false],
  ['the same is reserved', reservation(1), reservation(1), false],
  ['less is reserved', reservation(1, 2), reservation(1, 1), true],
  ['another request is first', reservation(1), reservation(2), true],
  ['nothing is reserved any more', reservation(1), undefined, true],
])('tells whether replacing a head frees capacity: %s', async (_when, before, after, isFreed) => {
  const ledger = await openLedger();
  ledger.reserveHead('p', 'main', before);

  expect(ledger.reserveHead('p', 'main', after)).toBe(isFreed);
});
