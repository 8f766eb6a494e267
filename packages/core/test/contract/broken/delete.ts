import { done, goto, wait } from '../../../src/index.js';
import { DELETION, differing, providerWith, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "delete" of the contract. */
export const DELETE: readonly BrokenDriver[] = [
  {
    flaw: 'does not wait until a deletion is over',
    breaks: 'delete: has removed what is behind a node when it says so',
    also: ['delete: deletes in the end although the cloud does not answer at first'],
    make: differing({
      remove: {
        waiting: async ({ externalId }, { order }, run) => {
          // leftovers of failed attempts are deleted correctly
          if (order.node?.state === 'deleting') return done();
          return (await run.instances.find(externalId)) ? wait() : done();
        },
      },
    }),
  },
  {
    flaw: 'takes it for an error that there is nothing to delete',
    breaks: 'delete: takes it for done when there is nothing left to delete',
    also: [DELETION],
    make: differing({
      remove: {
        start: async ({ externalId }, { cloud }) => {
          await cloud.delete(externalId).catch((error: unknown) => {
            throw new Error('deleting failed', { cause: error });
          });
          return goto({ name: 'waiting', externalId });
        },
      },
    }),
  },
  {
    flaw: 'takes an unanswered deletion for done',
    breaks: 'delete: deletes in the end although the cloud does not answer at first',
    make: differing({
      remove: {
        start: async ({ externalId }, { cloud }) => {
          const isTaken = await cloud.delete(externalId).then(
            () => true,
            () => false,
          );
          return isTaken ? goto({ name: 'waiting', externalId }) : done();
        },
      },
    }),
  },
  {
    flaw: 'deletes something else when a node has nothing',
    breaks: 'delete: knows nothing to delete behind a node that was never made',
    make: providerWith((provider, cloud) => ({
      startNodeCleanup: (node, signal) => {
        const externalId = node.externalId ?? [...cloud.machines.keys()][0] ?? null;
        return provider.startNodeCleanup({ ...node, externalId }, signal);
      },
    })),
  },
];
