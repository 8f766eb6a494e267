import { isNodepoolError, type Clock } from '@nodepool/core';
import { hasHostKeys, scanHostKeys } from '@nodepool/core/ssh';
import type { IncusClient } from './client.js';
import type { IncusInstance } from './instance.js';

/** Options of {@link readHostKeys}. */
export interface HostKeysOptions {
  readonly client: Pick<IncusClient, 'readFile'>;
  readonly clock: Clock;
  readonly port: number;
  readonly connectionType: string | null;
  readonly timeoutMs: number;
}

/** Types of keys that sshd of current versions makes. */
const TYPES = ['ed25519', 'ecdsa', 'rsa'];
/** A virtual machine whose image has no agent, or whose agent is not running yet. */
const NO_AGENT = /agent (isn't|is not) (currently )?running/i;
const KEY = /^((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2})(\s|$)/;

/**
 * Reads the host keys from the file system of an instance once its SSH server answers, as the first boot may make them.
 * @throws {TimeoutError} its SSH server does not answer
 * @returns `undefined`: it has none in the usual place, or its files cannot be read: a virtual machine without agent
 */
export async function readHostKeys(
  instance: IncusInstance,
  { client, clock, port, connectionType, timeoutMs }: HostKeysOptions,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (!hasHostKeys(connectionType)) return undefined;
  // without a type of connection, it waits until the port answers, and reads no keys
  await scanHostKeys({ host: instance.interfaceIp ?? '', port, timeoutMs, clock, signal, connectionType: null });
  const files = await Promise.all(
    TYPES.map((type) => readOne(client, instance.externalId, `/etc/ssh/ssh_host_${type}_key.pub`, signal)),
  );
  const keys = files.flatMap((text) => KEY.exec(text ?? '')?.[1] ?? []);
  return keys.length > 0 ? keys : undefined;
}

async function readOne(
  client: HostKeysOptions['client'],
  name: string,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await client.readFile(name, path, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isNodepoolError(error) && NO_AGENT.test(error.message)) return undefined;
    throw error;
  }
}
