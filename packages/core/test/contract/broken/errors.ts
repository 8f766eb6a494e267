import { CapacityError, ConfigError, done, LaunchError, wait } from '../../../src/index.js';
import {
  QUOTA_USED_UP,
  CAPACITY,
  LATE_LISTING,
  differing,
  handlerWith,
  translate,
  type BrokenDriver,
  LOST_REPLY,
} from './broken-driver.js';

/** Flaws that break the part "errors" of the contract. */
export const ERRORS: readonly BrokenDriver[] = [
  {
    flaw: 'takes a used-up quota for a lack of room',
    breaks: QUOTA_USED_UP,
    make: differing({ create: { start: translate('NODEPOOL_QUOTA', () => new CapacityError('no capacity')) } }),
  },
  {
    flaw: 'has one error for everything',
    breaks: CAPACITY,
    make: differing({ create: { start: translate('NODEPOOL_CAPACITY', () => new LaunchError('status', 'failed')) } }),
  },
  {
    flaw: 'rejects instead of resolving as failed',
    breaks: CAPACITY,
    also: ['shutdown: ends a launch soon after it is aborted'],
    make: handlerWith((handler) => ({
      launch: async (order, signal) => {
        const result = await handler.launch?.(order, signal);
        if (!result || result.state === 'failed') throw new Error('the launch failed');
        return result;
      },
    })),
  },
  {
    flaw: 'gives up when there is no capacity',
    breaks: 'errors: tries again when the cloud has no capacity',
    also: [CAPACITY],
    make: differing({ create: { start: translate('NODEPOOL_CAPACITY', () => new ConfigError('hopeless')) } }),
  },
  {
    flaw: 'gives up when the cloud does not answer',
    breaks: 'errors: waits out a cloud that does not answer for a while',
    also: [LOST_REPLY, LATE_LISTING],
    make: differing({
      create: { start: translate('NODEPOOL_PROVIDER_UNAVAILABLE', () => new ConfigError('hopeless')) },
    }),
  },
  {
    flaw: 'takes a broken instance for a ready one',
    breaks: 'errors: replaces an instance that breaks while it is made',
    make: differing({
      create: {
        waiting: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          const isBroken = cloud.machines.get(externalId)?.status === 'broken';
          return instance && (instance.ready || isBroken) ? done({ ...instance, interfaceIp: 'x.fake' }) : wait();
        },
      },
    }),
  },
  {
    flaw: 'takes an instance for ready after a minute',
    breaks: 'errors: replaces an instance that is not ready in time',
    make: differing({
      create: {
        waiting: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          if (cloud.machines.get(externalId)?.status === 'broken') throw new LaunchError('status', 'broken');
          const isLate = run.nowMs - run.startedMs > 60_000;
          return instance && (instance.ready || isLate) ? done({ ...instance, interfaceIp: 'x.fake' }) : wait(1_000);
        },
      },
    }),
  },
  {
    flaw: 'ignores that an instance is dead',
    breaks: 'errors: replaces an instance that breaks while it is made',
    says: /this one waited for launch-timeout: look at the states of the cloud/,
    make: differing({
      create: {
        waiting: async ({ externalId }, _work, run) => {
          const instance = await run.instances.find(externalId);
          return instance?.ready ? done(instance) : wait();
        },
      },
    }),
  },
  {
    flaw: 'takes a list that lags for the present',
    breaks: LATE_LISTING,
    says: /say in listLagMs of the adapter for how long lists can miss what was made/,
    make: differing({ adapter: () => ({ listLagMs: undefined }) }),
  },
  {
    flaw: 'is sure that nothing was made when the answer is lost',
    breaks: LOST_REPLY,
    make: differing({
      create: { start: translate('NODEPOOL_PROVIDER_UNAVAILABLE', () => new CapacityError('nothing made')) },
    }),
    also: ['errors: waits out a cloud that does not answer for a while', LATE_LISTING],
  },
];
