import { describe, expect, it } from 'vitest';
import { parseQuantity, toResources } from './quantity.js';

describe('quantities', () => {
  it.each([
    ['2', 2],
    ['500m', 0.5],
    ['100M', 1e8],
    ['1Gi', 2 ** 30],
    ['1.5Ki', 1536],
    ['1e3', 1000],
    ['0', 0],
  ])('reads %s as %d', (text, value) => {
    expect(parseQuantity(text)).toBe(value);
  });

  it.each(['', 'much', '1X', '1.2.3'])('does not read "%s"', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  it('translates quotas into the names and units of nodes', () => {
    const hard = {
      ...{ pods: '10', 'requests.cpu': '7500m', 'limits.memory': '4Gi', 'requests.nvidia.com/gpu': '2' },
      ...{ 'requests.ephemeral-storage': '5G', services: '3', 'count/deployments.apps': '2' },
    };

    expect(toResources(hard)).toEqual({
      ...{ instances: 10, cores: 7.5, 'limits.memory': 4096, 'nvidia.com/gpu': 2, 'ephemeral-storage': 5000 },
    });
  });

  it('takes the smaller of two limits of one name', () => {
    expect(toResources({ pods: '10', 'count/pods': '4' })).toEqual({ instances: 4 });
  });
});
