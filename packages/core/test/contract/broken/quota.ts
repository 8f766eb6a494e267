import { QUOTA_USED_UP, differing, providerWith, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "quota" of the contract. */
export const QUOTA: readonly BrokenDriver[] = [
  {
    flaw: 'needs nothing',
    breaks: 'quota: says what a node of each label needs',
    make: differing({ adapter: () => ({ getQuotaForLabel: () => Promise.resolve({ cores: 1 }) }) }),
  },
  {
    flaw: 'needs less than nothing',
    breaks: 'quota: says what a node of each label needs',
    make: differing({ adapter: () => ({ getQuotaForLabel: () => Promise.resolve({ instances: 1, cores: -2 }) }) }),
  },
  {
    flaw: 'writes -1 for no limit',
    breaks: 'quota: knows its limits soon after it has started',
    also: ['quota: reads its limits again when they proved wrong'],
    make: providerWith(({ quota }) => ({
      quota: quota && {
        quotaNeededByLabel: (label, pool) => quota.quotaNeededByLabel(label, pool),
        invalidateQuotaCache: () => quota.invalidateQuotaCache(),
        estimatedNodepoolQuota: () => quota.estimatedNodepoolQuota() && { instances: 10, volumes: -1 },
      },
    })),
  },
  {
    flaw: 'makes up its limits',
    breaks: 'quota: knows the limits of the cloud',
    says: /takes 1000000000 for the limit of instances, the cloud allows 10: .* read the limits in getQuotaLimits/,
    make: differing({ adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances: 1e9 }) }) }),
  },
  {
    flaw: 'knows no limit although the cloud has one',
    breaks: 'quota: knows the limits of the cloud',
    says: /takes no limit for the limit of instances, the cloud allows 10/,
    make: differing({ adapter: () => ({ getQuotaLimits: undefined }) }),
  },
  {
    flaw: 'takes twenty minutes to know its limits',
    breaks: 'quota: knows its limits soon after it has started',
    also: [
      'quota: reads its limits again when they proved wrong',
      'quota: calls no label unusable that it can make',
      'shutdown: finishes running work when it is stopped',
      'quota: knows the limits of the cloud',
    ],
    make: providerWith((provider, cloud) => {
      const madeMs = cloud.clock.now();
      const estimatedNodepoolQuota = () => (cloud.clock.now() - madeMs < 1_200_000 ? undefined : { instances: 10 });
      return {
        quota: {
          quotaNeededByLabel: () => ({ instances: 1 }),
          invalidateQuotaCache: () => provider.quota?.invalidateQuotaCache(),
          estimatedNodepoolQuota,
        },
      };
    }),
  },
  {
    flaw: 'forgets its limits for good',
    breaks: 'quota: reads its limits again when they proved wrong',
    also: [QUOTA_USED_UP],
    make: providerWith(() => {
      let limits: Record<string, number> | undefined = { instances: 10 };
      return {
        quota: {
          quotaNeededByLabel: () => ({ instances: 1 }),
          invalidateQuotaCache: () => (limits = undefined),
          estimatedNodepoolQuota: () => limits,
        },
      };
    }),
  },
  {
    flaw: 'calls a label unusable for no reason',
    breaks: 'quota: calls no label unusable that it can make',
    also: ['create: makes every label it has'],
    make: providerWith(() => ({ errorLabels: () => new Set(['large']) })),
  },
];
