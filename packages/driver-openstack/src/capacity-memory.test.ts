import { systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { CapacityMemory } from './capacity-memory.js';

it('a network without addresses is full for its own servers alone', () => {
  const memory = new CapacityMemory(systemClock);
  const place = { zone: 'az1', flavorId: 'small', networks: ['tiny'] };

  memory.noteFull(place, 'No fixed IP addresses available for network: tiny');

  expect(memory.whyFull(place)).toContain('tiny');
  expect(memory.isFull({ ...place, networks: ['private'] })).toBe(false);
  expect(memory.isFull({ ...place, networks: ['tiny', 'private'] })).toBe(false);
});
