import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Deadline } from '../../async/deadline.js';
import { LaunchError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import { readKeys, reportScanFailure } from './key-scan.js';
import type { LaunchStepTo, LaunchWork } from './launch-work.js';

/** Stores the instance and reads its host keys at the same time; the end of both is waited for whatever happens. */
export async function scanInstance(
  work: LaunchWork,
  { instance, fields }: LaunchStepTo<'scanning'>,
  deadline: Deadline,
): Promise<LaunchStepTo<'storing'>> {
  const stored = work.store(fields);
  stored.catch(() => deadline.end()); // the node is not ours any more: no need to scan it
  const [scanned] = await Promise.allSettled([scanKeys(work, instance, fields, deadline), stored]);
  await stored;
  if (scanned.status === 'rejected') throw scanned.reason;
  const keys = scanned.value;
  checkKnownKeys(instance, keys);
  return { name: 'storing', fields: keys.length > 0 ? { hostKeys: keys } : {} };
}

async function scanKeys(
  work: LaunchWork,
  instance: Instance,
  fields: Partial<NodeRecord>,
  { signal }: Deadline,
): Promise<string[]> {
  const { services, node, label, logger } = work;
  const target = {
    host: fields.interfaceIp ?? '',
    port: Number(fields.connectionPort ?? node.connectionPort),
    connectionType: fields.connectionType === undefined ? node.connectionType : fields.connectionType,
  };
  try {
    return await readKeys(services, target, logger, signal);
  } catch (error) {
    if (!signal.aborted) await reportScanFailure(services, label, instance.externalId, logger, signal);
    throw error;
  }
}

/** @throws {LaunchError} another host answers in the instance's place */
function checkKnownKeys({ externalId, hostKeys, onlyTheseHostKeys }: Instance, scanned: readonly string[]): void {
  if (onlyTheseHostKeys !== true) return;
  const foreign = scanned.filter((key) => hostKeys?.includes(key) !== true);
  if (foreign.length === 0) return;
  const message = `instance ${externalId} showed host keys that it did not print itself: ${foreign.join(', ')}`;
  throw new LaunchError('keyscan', message);
}
