import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { Reservation } from '../plan/types.js';
import { Reservations } from './reservations.js';

function kept(number: number, instances = 1): Reservation {
  const id = `200-000000000${number}` as RequestId;
  return { request: { ...newRequest({ labels: ['a'] }, 0), id }, need: { instances } };
}

it('a pool sees what other pools of its provider keep for requests, and not those of other providers', () => {
  const reservations = new Reservations();
  reservations.set('p', 'main', [kept(1), kept(2)]);
  reservations.set('p', 'other', [kept(3)]);
  reservations.set('q', 'main', [kept(4)]);

  expect(reservations.of('p', 'main')).toEqual([kept(1), kept(2)]);
  expect(reservations.besides('p', 'main')).toEqual([kept(3)]);
  expect(reservations.besides('q', 'main')).toEqual([]);

  reservations.set('p', 'other', []);
  expect(reservations.besides('p', 'main')).toEqual([]);
});

it('a pool sees the first waiting requests of other pools of its provider', () => {
  const reservations = new Reservations();
  reservations.setHead('p', 'main', kept(1));
  reservations.setHead('p', 'other', kept(2));

  expect(reservations.headsBesides('p', 'main')).toEqual([kept(2)]);
  expect(reservations.headsBesides('p', 'third')).toEqual([kept(1), kept(2)]);
  expect(reservations.headsBesides('q', 'main')).toEqual([]);
});

it.each([
  ['nothing was kept', undefined, kept(1), false],
  ['the same is kept', kept(1), kept(1), false],
  ['less is kept', kept(1, 2), kept(1, 1), true],
  ['another request is first', kept(1), kept(2), true],
  ['nothing is kept any more', kept(1), undefined, true],
])('capacity may be free when a head is replaced: %s', (_when, before, after, isFreed) => {
  const reservations = new Reservations();
  reservations.setHead('p', 'main', before);

  expect(reservations.setHead('p', 'main', after)).toBe(isFreed);
});
