import { expect, it } from 'vitest';
import { call, World } from '../../../test/support/world.js';

it('shows what was kept and needed of each label with standby', async () => {
  const world = new World();
  const operations = world.sources.more.flatMap((part) => part.operations);
  const before = await call(operations, 'listStandby');
  const slots = [
    { beginMs: 900_000, kept: undefined, needed: undefined },
    { beginMs: 1_800_000, kept: 3, needed: 0 },
  ];
  world.curves = [{ label: 'small', nodes: 3, reason: 'two are not enough', isFallback: false, slots }];

  expect(before).toEqual([]);
  expect(await call(operations, 'listStandby')).toEqual([
    {
      ...{ label: 'small', nodes: 3, reason: 'two are not enough', is_fallback: false },
      slots: [
        { time: 900, kept: null, needed: null },
        { time: 1_800, kept: 3, needed: 0 },
      ],
    },
  ]);
});
