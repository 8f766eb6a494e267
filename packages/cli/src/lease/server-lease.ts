import { newNode, type JsonObject, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { RefusedError, type Lease, type LeasedNode as ClientNode } from '@nodepool/client';
import { CliError, describeError } from '../command/errors.js';
import { serverError, type Server } from '../connection/server.js';
import { checkNode } from './check-node.js';
import type { LeaseKey } from './lease-key.js';
import type { LeasedNode } from './leased-node.js';

/** Refusals of a hold that is too long. */
const TOO_LONG = new Set(['ttl-too-long', 'max-hold-age']);

/** Nodes held over HTTP, until {@link ServerLease.release}; renewed until then, so that those of a killed process are returned soon. */
export class ServerLease {
  readonly requestId: string;
  /** In the order of the labels asked for. */
  readonly nodes: readonly LeasedNode[];
  readonly #lease: Lease;
  readonly #server: Server;
  readonly #key: LeaseKey | undefined;
  readonly #lost = new AbortController();
  #isHeld = false;

  /** @throws CliError a node must not be used; the lease should be released then */
  constructor(lease: Lease, server: Server, key: LeaseKey | undefined, nowMs: number) {
    this.requestId = lease.id;
    this.#lease = lease;
    this.#server = server;
    this.#key = key;
    this.nodes = lease.nodes.map((node) => ({
      ...{ node: nodeFrom(node, nowMs), label: node.label, login: key?.loginTo(node.id) },
    }));
    for (const { node } of this.nodes) checkNode(node);
    const onLost = () => this.#lost.abort(new CliError(`The nodes are lost: ${describeLoss(lease.lost.reason)}`));
    if (lease.lost.aborted) onLost();
    else lease.lost.addEventListener('abort', onLost, { once: true });
  }

  /** Fires, with a {@link CliError}, when the nodes are lost before they were released. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Removes what this process alone needs, also when the nodes are lost. A person who has the nodes needs the key. */
  async dispose(): Promise<void> {
    if (!this.#isHeld) await this.#key?.remove();
  }

  /** Leaves the nodes to a person, instead of returning them. @returns for how long. @throws CliError */
  async hold(_comment: string, ms: number): Promise<number> {
    try {
      await this.#lease.leave(ms);
      this.#isHeld = true;
      await this.#key?.keep();
      return ms;
    } catch (error) {
      const most = error instanceof RefusedError && TOO_LONG.has(error.code) ? error.longestTtlMs : undefined;
      if (most === undefined || most >= ms) throw serverError(error);
      return this.hold(_comment, most);
    }
  }

  /** The command that ends the hold. */
  endHoldCommand(_node: string): string {
    return `nodepool release ${this.requestId}${this.#server.options}`;
  }

  /** The command that prints a fresh certificate of a node. */
  certificateCommand(node: string): string {
    return `nodepool certificate ${this.requestId} ${node}${this.#server.options}`;
  }

  /** What happens to nodes that could not be returned in time. */
  get lateText(): string {
    return `${this.#server.url} did not answer while returning the nodes; they are returned when the lease expires, in minutes`;
  }

  /** Returns the nodes. Idempotent. @throws CliError */
  async release(): Promise<void> {
    try {
      await this.#lease.release();
    } catch (error) {
      throw new CliError(
        `${describeError(serverError(error))}; the nodes are returned when the lease expires, in minutes`,
      );
    }
  }
}

const describeLoss = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The record of a node, as far as the server shows it. */
function nodeFrom(node: ClientNode, nowMs: number): NodeRecord {
  const { id, provider, pool, cloud, region, zone, hostname, username, slot } = node;
  const record = newNode(
    {
      ...{ state: 'hold', labels: node.labels, provider, pool, cloud, region, az: zone, hostname, username, slot },
      // the address that the server chose, where it does not show all of them
      ...{ interfaceIp: node.interfaceIp ?? node.host, publicIpv4: node.publicIpv4, privateIpv4: node.privateIpv4 },
      ...{ publicIpv6: node.publicIpv6, connectionPort: node.port, connectionType: node.connectionType },
      ...{ hostKeys: node.hostKeys, hostId: node.hostId, externalId: node.externalId as NodeRecord['externalId'] },
      ...{ pythonPath: node.pythonPath, shellType: node.shellType, attributes: node.attributes as JsonObject | null },
    },
    nowMs,
  );
  return { ...record, id: id as NodeId };
}
