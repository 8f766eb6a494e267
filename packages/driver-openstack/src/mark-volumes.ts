import { NODE_ID_TAG, PROVIDER_TAG, type Logger } from '@nodepool/core';
import type { OpenStackClient } from './client/client.js';
import type { Server } from './client/compute.js';

/** Tags the volumes that Nova creates, so that orphaned ones can be recognized. */
export async function markVolumes(
  client: OpenStackClient,
  server: Server,
  tags: Readonly<Record<string, string>>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const id of server.volumeIds) {
    try {
      await client.volume.mark(id, tags, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const fields = { volume: id, nodeId: tags[NODE_ID_TAG], provider: tags[PROVIDER_TAG], error };
      logger.warn('Tagging a volume failed; it will not be deleted if it is orphaned', fields);
    }
  }
}
