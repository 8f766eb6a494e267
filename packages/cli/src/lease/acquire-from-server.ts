import type { Lease, LeaseInfo } from '@nodepool/client';
import { labelsToText } from '@nodepool/core/service';
import { inform, type CliContext } from '../command/context.js';
import { UsageError } from '../command/usage-error.js';
import { whoAmI } from '../connection/who-am-i.js';
import { createClient, serverError, type Server } from '../connection/server.js';
import type { AcquireOptions } from './acquire-options.js';
import { findLeaseKey } from './lease-key.js';
import { limitWait } from './limit-wait.js';
import { RequestProgress } from './progress.js';
import { ServerLease } from './server-lease.js';

/** The server takes no longer text. */
const LONGEST_REASON = 1_000;

/** Says each state of a waiting lease once, and why the server cannot be reached. */
class LeaseProgress extends RequestProgress {
  #last = '';
  #hasWaited = false;

  /** Says something that may be repeated, once. */
  once(line: string): void {
    if (line !== this.#last) this.say((this.#last = line));
  }

  isActive({ id, nodes }: Lease): void {
    this.say(`lease ${id} is active`);
    for (const { certificateProblem } of nodes) if (certificateProblem !== null) this.once(certificateProblem);
  }

  waits({ id, request, summary }: LeaseInfo): void {
    if (summary === null) return; // just requested
    if (!this.#hasWaited) this.once(`lease ${id} waits`);
    this.#hasWaited = true;
    this.once(summary.replace(`Request ${request} `, ''));
  }
}

function refuseMeaningless({ provider, force }: AcquireOptions): void {
  if (provider !== undefined)
    throw new UsageError('--provider needs ZooKeeper: a server chooses the provider by itself');
  if (force) throw new UsageError('--force needs ZooKeeper: a server leases only labels that a launcher offers');
}

/**
 * Leases nodes from a web server. Cleans up and ends early when the signal aborts.
 * @throws UsageError; CliError when the lease failed or took too long, or the server cannot be reached; the signal's reason
 */
export async function acquireFromServer(
  context: CliContext,
  server: Server,
  options: AcquireOptions,
  signal: AbortSignal,
): Promise<ServerLease> {
  signal.throwIfAborted();
  refuseMeaningless(options);
  const { clock } = context;
  const { labels, priority, purpose } = options;
  const progress = new LeaseProgress(options.quiet ? () => {} : inform, () => clock.now());
  const client = createClient(server, context, (error) => progress.once(`${error.message}; trying again`));
  progress.say(`leases ${labelsToText(labels)} from ${client.url}`);
  const key = await findLeaseKey(client, options, signal).catch((error: unknown) => {
    throw serverError(error);
  });
  const waiting = limitWait(context, options, `Lease for ${labelsToText(labels)}`, signal);
  try {
    const lease = await client.lease(labels, {
      ...{ priority, reason: `${purpose}, ${whoAmI()}`.slice(0, LONGEST_REASON), signal: waiting.signal },
      ...(key && { sshKey: key.publicKey }),
      onProgress: (info) => progress.waits(info),
      onRenewed: ({ nodes }) => void key?.store(nodes).catch(({ message }: Error) => progress.once(message)),
      onRefused: ({ message }) => progress.once(`cannot renew the lease, which will expire: ${message}`),
    });
    progress.isActive(lease);
    try {
      await key?.store(lease.nodes);
      return new ServerLease(lease, server, key, clock.now());
    } catch (error) {
      await lease.release();
      throw error;
    }
  } catch (error) {
    await key?.remove();
    throw serverError(error);
  } finally {
    waiting.end();
  }
}
