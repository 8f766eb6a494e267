import { encodeNode, nodePath } from '@nodepool/zk-protocol';
import type { Instance } from '../../../src/index.js';
import type { BrokenDriver } from './broken-driver.js';
import { differing, providerWith } from './broken-driver.js';

const STOPPED =
  'usable machines: withdraws a ready node within a minute when its machine has stopped, and lends it no more';
const DELETED =
  'usable machines: withdraws a ready node within a minute when its machine was deleted, and lends it no more';

/** Flaws that break the part "usable machines" of the contract. */
export const USABLE: readonly BrokenDriver[] = [
  {
    flaw: 'does not say of an instance that it has stopped',
    breaks: STOPPED,
    says: /say so in "unusable"/,
    make: differing({
      adapter: (honest) => ({
        listInstances: async (signal) =>
          (await honest.listInstances(signal)).map((instance) => ({ ...instance, unusable: undefined })),
      }),
    }),
  },
  {
    flaw: 'lists an instance that it has seen for as long as it has not seen its deletion',
    breaks: DELETED,
    make: differing({
      adapter: (honest, cloud) => {
        const seen = new Map<string, Instance>();
        return {
          listInstances: async (signal) => {
            for (const instance of await honest.listInstances(signal)) {
              if (cloud.machines.get(instance.externalId)?.status === 'deleting') seen.delete(instance.externalId);
              else seen.set(instance.externalId, instance);
            }
            return [...seen.values()];
          },
        };
      },
    }),
  },
  {
    flaw: 'takes a node away from its user when its machine is gone',
    breaks: 'usable machines: leaves a node in use to its user, whose machine was deleted',
    says: /in use ends when its user gives it back/,
    make: providerWith((_provider, cloud, context) => ({
      cleanupLeakedResources: async () => {
        for (const node of context.ownNodes()) {
          if (node.state !== 'in-use' || [...cloud.machines.keys()].some((id) => id === node.externalId)) continue;
          const data = encodeNode({ ...node, state: 'used' });
          await context.committer.commit([{ op: 'set', path: nodePath(node.id), data, version: -1 }]);
        }
      },
    })),
  },
  {
    flaw: 'takes a cloud that does not answer for an empty one',
    breaks: 'usable machines: withdraws no node while the cloud does not answer',
    make: differing({
      adapter: (honest) => ({ listInstances: (signal) => honest.listInstances(signal).catch(() => []) }),
    }),
  },
];
