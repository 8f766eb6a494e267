import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdviceWorld } from '../advice/advice-world.js';
import { followAdvice, type Row } from '../advice/row.js';
import { ROWS } from '../advice/rows.js';

/** How long a row may take, ms. */
const LIMIT_MS = 600_000;

let world: AdviceWorld;

beforeAll(async () => {
  world = await AdviceWorld.start();
}, LIMIT_MS);
afterAll(() => world.stop());

const named = (row: Row): [string, Row] => [`${row.type} ${row.reason}: ${row.advice.source}`, row];

describe('the advice of a condition ends it', () => {
  it.each(ROWS.map(named))('%s', { timeout: LIMIT_MS }, async (_name, row) => {
    await world.well();
    try {
      await row.begin(world);
      const condition = await world.seen(row.type, row.reason);
      expect(condition.next_step).toMatch(row.advice);

      await followAdvice(world, row, condition);

      await world.gone(condition);
    } finally {
      await row.end?.(world);
    }
  });
});
