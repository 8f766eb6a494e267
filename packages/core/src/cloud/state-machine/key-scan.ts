import { orAbort } from '@nodepool/zk-protocol';
import { TimeoutError } from '../../contract/errors.js';
import { startDeadline } from '../../async/deadline.js';
import type { Logger } from '../../contract/logger.js';
import type { LaunchServices } from './launch-services.js';
import type { StateMachineLabelConfig } from './types.js';

/** Address of a new node. */
export interface ScanTarget {
  readonly host: string;
  readonly port: number;
  readonly connectionType: string | null;
}

const REPORT_TIMEOUT_MS = 30_000;

/**
 * Reads the host keys of a new node within the provider's time limit, which includes waiting in the queue.
 */
export async function readKeys(
  services: LaunchServices,
  target: ScanTarget,
  logger: Logger,
  signal: AbortSignal,
): Promise<string[]> {
  const { clock, keyScanTimeoutMs, scans, scan, random } = services;
  const endsMs = clock.now() + keyScanTimeoutMs;
  return scans.run(async () => {
    const timeoutMs = endsMs - clock.now();
    if (timeoutMs <= 0) {
      throw new TimeoutError(`${target.host}: its key scan waited ${keyScanTimeoutMs} ms for others to end`, {
        timeoutMs: keyScanTimeoutMs,
        statsdKey: 'error.keyscan',
      });
    }
    return scan({ ...target, timeoutMs, clock, signal, logger, random });
  }, signal);
}

/** Tells the driver that an instance could not be scanned, and logs its console where the label asks for it. */
export async function reportScanFailure(
  { adapter, clock }: LaunchServices,
  label: StateMachineLabelConfig,
  externalId: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const deadline = startDeadline(clock, REPORT_TIMEOUT_MS, signal);
  try {
    await orAbort(Promise.resolve(adapter.notifyNodescanFailure?.(label, externalId)), deadline.signal);
    if (label.consoleLog !== true || !adapter.getConsoleLog) return;
    const text = await orAbort(adapter.getConsoleLog(label, externalId, deadline.signal), deadline.signal);
    for (const line of text?.split(/\r?\n/) ?? []) logger.info('Console of the instance', { externalId, line });
  } catch (error) {
    logger.warn('Could not report a failed key scan', { externalId, error });
  } finally {
    deadline.end();
  }
}
