import { describe, expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { priceOf } from '../contract/label-price.js';
import { readPrice } from './label-price.js';

const saidOf = (price: string) =>
  linesAbout({
    yaml: `labels: [{name: a, price: ${price}}]\nproviders: [{name: east, driver: plain, pools: [{name: main, labels: [{name: a}]}]}]\n`,
    ...{ env: {}, mode: 'validate', drivers: registryOf(plainDriver('plain')) },
  });

describe('price of a label', () => {
  it('is that of a node in any provider, or differs by provider', () => {
    const label = (price: Parameters<typeof readPrice>[0]) => ({
      ...{ name: 'a', minReady: 0, maxReadyAgeMs: 0, price: readPrice(price) },
    });

    expect(priceOf(label(0.5), 'east')).toBe(0.5);
    expect(priceOf(label(0), 'east')).toBe(0);
    expect(priceOf(label({ east: 0.25 }), 'east')).toBe(0.25);
    expect(priceOf(label({ east: 0.25 }), 'west')).toBeUndefined();
    expect([priceOf(label(undefined), 'east'), priceOf(undefined, 'east')]).toEqual([undefined, undefined]);
  });

  it.each([
    ['0.08', undefined],
    ['{east: 1}', undefined],
    ['-1', ':1:27: labels[0].price: expected a number >= 0, got the number -1'],
    ['free', ':1:27: labels[0].price: expected a number or a map, got text "free"'],
    ['{east: -1}', 'labels[0].price.east'],
    ['{est: 1}', 'price for provider "est", which is not in the file, did you mean "east"?'],
  ])('%s', async (price, problem) => {
    const said = await saidOf(price);

    if (problem === undefined) expect(said).toEqual([]);
    else expect(said.join('\n')).toContain(problem);
  });
});
