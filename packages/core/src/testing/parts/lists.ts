import assert from 'node:assert/strict';
import { LIST_LACKS, MOST_READ_SINGLY } from '../../cloud/operations/instance-list.js';
import { silentLogger, type Logger } from '../../contract/logger.js';
import { NODE_ID_TAG } from '../../contract/instance.js';
import type { Harness, TakenNodes } from '../harness/harness.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

const tests: readonly PartTest[] = [
  {
    name: 'makes more nodes at once than are looked up one by one',
    run: async ({ harness }) => {
      const lacking: unknown[] = [];
      harness.logger = onInfo((message, fields) => message === LIST_LACKS && lacking.push(fields?.['externalId']));
      await harness.startLauncher();
      const { nodes } = await takeMany(harness);

      assert.deepEqual(lacking, [], 'listInstances must show every instance as it is now, on however many pages');
      assert.equal(new Set(nodes.map(({ externalId }) => externalId)).size, nodes.length, 'each has its own instance');
      await harness.resources.assertAllReady();
    },
  },
  {
    name: 'lists everything that it made',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const { nodes } = await takeMany(harness);
      if (!provider.listResources) return; // resources without tags
      const listing = provider.listResources(new AbortController().signal);
      const listed = await harness.during(listing, 'the resources are listed');
      const tagged = new Set(listed.map(({ metadata }) => metadata[NODE_ID_TAG]));
      const missing = nodes.filter(({ id }) => !tagged.has(id)).map(({ externalId }) => externalId);

      assert.deepEqual(
        missing,
        [],
        `listResources shows ${nodes.length - missing.length} of ${nodes.length} instances with their tag ${NODE_ID_TAG}: ` +
          'read all pages of the list, and return the tags of order.metadata; what is missing can leak indefinitely',
      );
    },
  },
];

/** Hands on what is logged as information. */
function onInfo(info: Logger['info']): Logger {
  const logger: Logger = { ...silentLogger, info, child: () => logger };
  return logger;
}

/** Takes more nodes than a driver looks up individually, and more than one page of a list holds. */
async function takeMany(harness: Harness): Promise<TakenNodes> {
  const [label] = await harness.configuration.labels();
  const count = Math.max(MOST_READ_SINGLY + 2, (harness.cloud.pageSize ?? 0) + 1);
  try {
    return await harness.take(new Array<string>(count).fill(label));
  } catch (error) {
    const message =
      `${count} nodes at once are not made, and validConfig and the cloud must allow them. While more than ` +
      `${MOST_READ_SINGLY} instances are awaited, getInstance is not asked: listInstances must show every instance as ` +
      `it is now, on however many pages the cloud lists it; ${error instanceof Error ? error.message : String(error)}`;
    throw new Error(message, { cause: error });
  }
}

/** Listing many instances. */
export const lists: ContractPart = {
  name: 'lists',
  applies: launches,
  tests: () => tests,
};
