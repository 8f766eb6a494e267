import { describe, expect, it } from 'vitest';
import { labelOf } from '../test/labels.js';
import type { ApiLimitRange, ApiPod, ApiResourceQuota } from './api.js';
import { checkRanges, limitsFor, needOf, recordedNeed, usageOf } from './usage.js';

const metadata = { name: 'q' };
const range: ApiLimitRange = {
  metadata,
  spec: {
    limits: [
      {
        ...{ type: 'Container', max: { cpu: '2' } },
        ...{ default: { cpu: '1', memory: '256Mi' }, defaultRequest: { cpu: '500m' } },
      },
    ],
  },
};
const quota = (hard: Record<string, string>, used: Record<string, string>, spec = {}): ApiResourceQuota => ({
  ...{ metadata, spec, status: { hard, used } },
});

describe('what a node needs', () => {
  it('is what its label requests, with its limits', () => {
    const label = labelOf({ image: 'x', cpu: 2, memory: 512, storage: 10, 'extra-resources': { licence: 1 } });

    expect(needOf(label)).toEqual({
      ...{ instances: 1, cores: 2, ram: 512, 'ephemeral-storage': 10, licence: 1 },
      ...{ 'limits.cpu': 2, 'limits.memory': 512, 'limits.ephemeral-storage': 10 },
    });
    expect(recordedNeed(label)).toEqual({ instances: 1, cores: 2, ram: 512, 'ephemeral-storage': 10, licence: 1 });
  });

  it('is what its specification requests', () => {
    const resources = { requests: { cpu: '1500m' }, limits: { memory: '1Gi', 'nvidia.com/gpu': '1' } };
    const spec = { containers: [{ resources }, { resources: { requests: { cpu: '500m' } } }] };

    expect(recordedNeed(labelOf({ spec }))).toEqual({ instances: 1, cores: 2, ram: 1024, 'nvidia.com/gpu': 1 });
  });

  it('is the default of the namespace where the label says nothing', () => {
    expect(needOf(labelOf({ image: 'x', memory: 512 }), [range])).toEqual({
      ...{ instances: 1, cores: 0.5, ram: 512, 'limits.cpu': 1, 'limits.memory': 512 },
    });
  });

  it('must not be larger than the namespace allows', () => {
    expect(() => checkRanges(labelOf({ image: 'x', cpu: 4 }), [range], 'main')).toThrow(
      'label "small" has 4 of limits.cpu, LimitRange "q" allows 2 in namespace "main"',
    );
    checkRanges(labelOf({ image: 'x', cpu: 2 }), [range], 'main');
  });
});

describe('what a namespace allows', () => {
  const pod = (cpu: string, phase = 'Running'): ApiPod => ({
    ...{ metadata, spec: { containers: [{ resources: { requests: { cpu } } }] }, status: { phase } },
  });

  it('is its quota minus what others use', () => {
    const own = { instances: 2, cores: 2 };
    const limits = limitsFor([quota({ pods: '10', 'requests.cpu': '8' }, { pods: '5', 'requests.cpu': '5' })], own);

    expect(limits).toEqual({ instances: 7, cores: 5 });
  });

  it('is the smallest of several quotas, without those with scopes', () => {
    const quotas = [
      quota({ pods: '10' }, {}),
      quota({ pods: '4' }, { pods: '9' }),
      quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }),
    ];

    expect(limitsFor(quotas, {})).toEqual({ instances: 0 });
    expect(limitsFor([], {})).toEqual({});
  });

  it('is used by pods that have not ended', () => {
    expect(usageOf(pod('2'))).toEqual({ instances: 1, cores: 2 });
    expect(usageOf(pod('2', 'Failed'))).toEqual({});
  });
});
