import { isNodepoolError, type Clock, type Logger } from '@nodepool/core';
import { scanHostKeys } from '@nodepool/core/ssh';
import type { ComputeClient } from './client.js';
import type { GceInstance } from './instance.js';

/** Options of {@link readHostKeys}. */
export interface HostKeysOptions {
  readonly client: ComputeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly port: number;
  readonly connectionType: string | null;
  readonly useInternalIp: boolean;
  /** Keys from before a start; none: they are read from Google. The guest agent publishes them at the first boot only. */
  readonly known: readonly string[];
}

const SCAN_TIMEOUT_MS = 10_000;
const KEY = /^[a-z0-9@.-]{1,64} [A-Za-z0-9+/]{1,8192}={0,2}$/;

/**
 * Reads the host keys that the guest agent has published through Google, once the SSH server uses them: at the first boot
 * the server answers with the keys of the image for some seconds.
 * https://cloud.google.com/compute/docs/connect/retrieve-host-keys
 * @returns `undefined`: not yet
 */
export async function readHostKeys(
  instance: GceInstance,
  options: HostKeysOptions,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const { client, connectionType, port, clock, random, logger, known } = options;
  const published = known.length > 0 ? known : await readPublished(instance, client, signal);
  if (published.length === 0) return undefined;
  const host = (options.useInternalIp ? instance.privateIpv4 : null) ?? instance.interfaceIp ?? '';
  try {
    const target = { host, port, connectionType, timeoutMs: SCAN_TIMEOUT_MS };
    const shown = await scanHostKeys({ ...target, clock, signal, logger, random });
    return shown.every((key) => published.includes(key)) ? published : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!isNodepoolError(error)) throw error;
    return undefined;
  }
}

async function readPublished(
  { az, externalId }: GceInstance,
  client: ComputeClient,
  signal: AbortSignal,
): Promise<string[]> {
  const published = Object.entries(await client.getHostKeys(az, externalId, signal));
  // written by the guest, and lessees put them into their known_hosts: nothing but a key
  return published.map(([type, key]) => `${type} ${key.trim()}`).filter((line) => KEY.test(line));
}
