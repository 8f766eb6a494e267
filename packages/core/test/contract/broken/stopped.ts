import { done, goto } from '../../../src/index.js';
import { differing, type BrokenDriver } from './broken-driver.js';

const KEEPS = 'stopped: keeps a stopped node, which is not taken for a leak';
const STARTS = 'stopped: starts the node that it has stopped, at whatever moment the launcher dies';

/** Flaws that break the part "stopped" of the contract. */
export const STOPPED: readonly BrokenDriver[] = [
  {
    flaw: 'makes another instance instead of starting the one that it has stopped',
    breaks: STARTS,
    says: /the instance that was stopped/,
    make: differing({
      create: { starting: () => goto({ name: 'submitting' }) },
    }),
  },
  {
    flaw: 'says that an instance has stopped which still runs',
    breaks: KEEPS,
    says: /does not run/,
    make: differing({
      stop: { start: ({ externalId }) => done({ name: 'starting', externalId }) },
    }),
  },
  {
    flaw: 'deletes instances that run, and leaves those that it has stopped',
    breaks: 'stopped: deletes a stopped node',
    says: /its instance is deleted/,
    make: differing({
      remove: {
        start: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          if (instance?.ready === false) return done();
          await cloud.delete(externalId);
          return goto({ name: 'waiting', externalId });
        },
      },
    }),
  },
];
