import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { Stock } from './stock.js';

const place = { zone: 'us-central1-a', machineType: 'n2-standard-8', spot: false };

it('lets one launch probe after the pause, and doubles the pause if the placement is still exhausted', async () => {
  const clock = new VirtualClock();
  const stock = new Stock(clock);
  stock.exhausted(place);

  const during = stock.take(place);
  await clock.advance(30_000);
  const probes = [stock.take(place), stock.take(place)];
  stock.exhausted(place);
  await clock.advance(59_000);
  const early = stock.take(place);
  await clock.advance(1_000);

  expect([during, ...probes, early, stock.take(place)]).toEqual([false, true, false, false, true]);
});

it('never waits longer than ten minutes', async () => {
  const clock = new VirtualClock();
  const stock = new Stock(clock);
  stock.exhausted(place);
  for (let round = 0; round < 10; round++) {
    await clock.advance(600_000);
    expect(stock.take(place)).toBe(true);
    stock.exhausted(place);
  }

  expect(stock.secondsUntilProbe([place])).toBe(600);
});

it('counts simultaneous refusals as one', async () => {
  const clock = new VirtualClock();
  const stock = new Stock(clock);
  for (let order = 0; order < 300; order++) stock.exhausted(place);

  await clock.advance(30_000);

  expect(stock.take(place)).toBe(true);
});

it('lets another one try when the probe never ends', async () => {
  const clock = new VirtualClock();
  const stock = new Stock(clock);
  stock.exhausted(place);
  await clock.advance(30_000);
  stock.take(place);

  await clock.advance(30_000);

  expect(stock.take(place)).toBe(true);
});

it('is full again after one success, and counts zones, machine types and Spot VMs apart', () => {
  const stock = new Stock(new VirtualClock());
  stock.exhausted(place);
  const others = [
    { ...place, zone: 'us-central1-b' },
    { ...place, machineType: 'e2-standard-8' },
    { ...place, spot: true },
  ];

  expect(others.map((other) => stock.take(other))).toEqual([true, true, true]);
  expect(stock.secondsUntilProbe([place, ...others])).toBe(0);
  stock.served(place);
  expect(stock.take(place)).toBe(true);
});

it.each([-3_600_000, -120_000, 120_000, 3_600_000])('keeps its pause when the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const stock = new Stock(clock);
  stock.exhausted(place);

  clock.set(clock.now() + byMs);
  await clock.advance(29_000);
  const during = [stock.take(place), stock.secondsUntilProbe([place])];
  await clock.advance(1_000);

  expect([during, stock.take(place)]).toEqual([[false, 1], true]);
});
