import { delay, orAbort, type NodeRecord, steadyNow } from '@nodepool/zk-protocol';
import { startDeadline, type Deadline } from '../../async/deadline.js';
import { LaunchError, TimeoutError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import { machineText } from '../../text/machine-text.js';
import type { LaunchServices, LaunchWork } from './launch-work.js';
import type { StateMachineLabelConfig } from './types.js';

const REPORT_TIMEOUT_MS = 30_000;
/** After which a machine that has just booted must show the same host keys: cloud-init replaces them while sshd runs. */
const SETTLE_MS = 5_000;
const MOST_LOOKS = 10;
/** Of a console, in the log. */
const CONSOLE_LINES = 500;
const CONSOLE_LINE = 1_000;

/**
 * Stores the instance and reads its host keys at the same time; the end of both is waited for whatever happens.
 * @returns the fields that are not stored yet
 */
export async function scanInstance(
  work: LaunchWork,
  instance: Instance,
  fields: Partial<NodeRecord>,
  deadline: Deadline,
): Promise<Partial<NodeRecord>> {
  const before = work.knownHostKeys;
  const stored = work.store({ ...fields, ...work.progressFields });
  stored.catch(() => deadline.end()); // the node is not ours any more: no need to scan it
  const [scanned] = await Promise.allSettled([scanKeys(work, instance, fields, deadline), stored]);
  await stored;
  if (scanned.status === 'rejected') throw scanned.reason;
  const keys = scanned.value;
  checkKnownKeys(instance, keys);
  if (before) checkSameKeys(instance, before, keys);
  return keys.length > 0 ? { hostKeys: keys } : {};
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
    return await readKeys(services, target, { logger, signal, isKnown: (keys) => isKnown(instance, keys) });
  } catch (error) {
    if (!signal.aborted) await reportScanFailure(services, label, instance.externalId, logger, signal);
    throw error;
  }
}

/** @throws {LaunchError} the instance has other keys than before it was stopped, so that it is perhaps not the same */
function checkSameKeys({ externalId }: Instance, before: readonly string[], now: readonly string[]): void {
  if (!isSame(before, now))
    throw new LaunchError('keyscan', `instance ${externalId} has other host keys than before it was stopped`);
}

function isSame(before: readonly string[], now: readonly string[]): boolean {
  return now.length === before.length && now.every((key) => before.includes(key));
}

/** Whether the cloud has told these keys. */
function isKnown({ hostKeys }: Instance, keys: readonly string[]): boolean {
  return keys.every((key) => hostKeys?.includes(key) === true);
}

/** @throws {LaunchError} another host answers in the instance's place */
function checkKnownKeys({ externalId, hostKeys, onlyTheseHostKeys }: Instance, scanned: readonly string[]): void {
  if (onlyTheseHostKeys !== true) return;
  const foreign = scanned.filter((key) => hostKeys?.includes(key) !== true);
  if (foreign.length === 0) return;
  const message = `instance ${externalId} showed host keys that it did not print itself: ${foreign.join(', ')}`;
  throw new LaunchError('keyscan', message);
}

/** Address of a new node. */
interface ScanTarget {
  readonly host: string;
  readonly port: number;
  readonly connectionType: string | null;
}

/** How the host keys of a node are read. */
interface ReadOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Whether the keys are known to be the machine's own, so that they do not change any more. */
  readonly isKnown: (keys: readonly string[]) => boolean;
}

/**
 * Reads the host keys of a new node. A machine that has just booted, as its port did not answer at first, is read until it shows
 * the same keys twice.
 */
async function readKeys(services: LaunchServices, target: ScanTarget, options: ReadOptions): Promise<string[]> {
  let hasBooted = false;
  let keys = await scanOnce(services, target, options, () => (hasBooted = true));
  if (!hasBooted || keys.length === 0 || options.isKnown(keys)) return keys;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    await delay(services.clock, SETTLE_MS, options.signal);
    const again = await scanOnce(services, target, options, () => {});
    if (isSame(keys, again)) return again;
    options.logger.info('The host keys of the instance have changed since it booted', { before: keys, now: again });
    keys = again;
  }
  const message = `${target.host} port ${target.port}: the instance shows other host keys at each look, ${SETTLE_MS} ms apart`;
  throw new LaunchError('keyscan', message);
}

/** Reads the host keys within the provider's time limit, which includes waiting in the queue. */
async function scanOnce(
  services: LaunchServices,
  target: ScanTarget,
  { logger, signal }: ReadOptions,
  onFailure: () => void,
): Promise<string[]> {
  const { clock, keyScanTimeoutMs, scans, scan, random } = services;
  const endsMs = steadyNow(clock) + keyScanTimeoutMs;
  return scans.run(async () => {
    const timeoutMs = endsMs - steadyNow(clock);
    if (timeoutMs <= 0) {
      const message = `${target.host}: its key scan waited ${keyScanTimeoutMs} ms for others to end`;
      throw new TimeoutError(message, { timeoutMs: keyScanTimeoutMs, statsdKey: 'error.keyscan' });
    }
    return scan({ ...target, timeoutMs, clock, signal, logger, random, onFailure });
  }, signal);
}

/** Tells the driver that an instance could not be scanned, and logs its console where the label asks for it. */
async function reportScanFailure(
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
    logConsole(text ?? '', externalId, logger);
  } catch (error) {
    logger.warn('Could not report a failed key scan', { externalId, error });
  } finally {
    deadline.end();
  }
}

/** The end of a console, which the machine has written. */
function logConsole(text: string, externalId: string, logger: Logger): void {
  for (const line of text.split(/\r?\n/).slice(-CONSOLE_LINES)) {
    logger.info('Console of the instance', { externalId, machineSaid: machineText(line, CONSOLE_LINE) });
  }
}
