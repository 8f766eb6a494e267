import { judgeModelApi, MODEL_API, NodepoolError, type ComponentRecord } from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';

/**
 * Refuses to start a process with an older data model than all others, as it could damage their records.
 * @throws {NodepoolError} `NODEPOOL_MODEL_API`: every other component uses a newer data model
 */
export function checkModelApi(components: Iterable<ComponentRecord>, logger: Logger): void {
  const { start, system } = judgeModelApi(
    MODEL_API,
    [...components].map((component) => component.modelApi),
  );
  if (start === 'refuse') {
    throw new NodepoolError(
      'NODEPOOL_MODEL_API',
      `every other component uses data model ${system}, this launcher knows ${MODEL_API}: upgrade it`,
    );
  }
  if (start === 'compatibility') {
    logger.info('Running in compatibility mode: an older component is registered', { system });
  }
}
