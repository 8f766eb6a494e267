import type { RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { Retries } from './retries.js';

const [A, B] = ['200-0000000001', '200-0000000002'] as [RequestId, RequestId];

async function setUp() {
  const world = await ServiceWorld.open();
  const retries = new Retries(world.context);
  const over: RequestId[] = [];
  retries.onOver((id) => over.push(id));
  /** How long the next pause of the request takes. */
  const pauseOf = async (id: RequestId, firstMs?: number) => {
    const beganMs = world.clock.now();
    retries.pause(id, firstMs);
    while (retries.isPausing(id)) await world.clock.advance(1);
    return world.clock.now() - beganMs;
  };
  return { world, retries, over, pauseOf };
}

it('pauses of a request become longer, up to half a second, and each is told when it is over', async () => {
  const { over, pauseOf } = await setUp();

  const pauses: number[] = [];
  for (let i = 0; i < 8; i++) pauses.push(await pauseOf(A));

  expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  expect(pauses[0]).toBeLessThanOrEqual(25);
  expect(pauses.at(-1)).toBeLessThanOrEqual(500);
  expect(pauses.at(-1)).toBeGreaterThan(200);
  expect(over).toEqual(pauses.map(() => A));
});

it('a first pause can be longer than all others', async () => {
  const { pauseOf } = await setUp();

  expect(await pauseOf(A, 30_000)).toBeGreaterThanOrEqual(15_000);
});

it('a request that was forgotten does not pause, and begins with a short pause again', async () => {
  const { world, retries, over, pauseOf } = await setUp();
  const first = await pauseOf(A);
  await pauseOf(A);
  over.length = 0;

  retries.pause(A);
  retries.pause(B);
  retries.forget(A);
  await world.clock.advance(1_000);

  expect(over).toEqual([B]);
  expect(await pauseOf(A)).toBe(first);
});

it('nothing is told after the end', async () => {
  const { world, retries, over } = await setUp();
  retries.pause(A);

  retries.stop();
  await world.clock.advance(1_000);

  expect(over).toEqual([]);
});
