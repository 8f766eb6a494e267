import { expect, it } from 'vitest';
import { silentLogger } from '../contract/logger.js';
import { ServiceWorld } from '../../test/support/service-world.js';
import type { Part } from './state/part.js';
import { reconsiderAll } from './sweeps.js';

it('all parts look at everything again, whichever of them fail, and the failures are logged', async () => {
  const { context } = await ServiceWorld.open();
  const asked: string[] = [];
  const errors: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_message: string, fields?: { error?: unknown }) => errors.push(String(fields?.error)),
  };
  const parts: Part[] = [
    {
      reconsider: () => {
        throw new Error('one');
      },
    },
    { reconsider: () => Promise.reject(new Error('two')) },
    {},
    { reconsider: (occasion) => asked.push(occasion) },
  ];

  await reconsiderAll({ ...context, logger }, parts, 'reload');

  expect(asked).toEqual(['reload']);
  expect(errors).toEqual(['Error: one', 'Error: two']);
});
