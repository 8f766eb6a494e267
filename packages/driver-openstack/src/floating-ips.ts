import { DATABASE_ID_TAG, isOurs, LaunchError, NODE_ID_TAG, type TaskManager } from '@nodepool/core';
import { portForFloatingIp, type NetworkView } from './addresses.js';
import type { OpenStackClient } from './client/client.js';
import type { Server } from './client/compute.js';
import { isOpenStackError } from './client/errors.js';
import type { FloatingIp, Port } from './client/network.js';
import { markFor, tagsIn } from './mark.js';

/** For whom a floating IP is attached. */
export interface FloatingIpOrder {
  readonly provider: string;
  /** Tags of the node, with the id of the database. */
  readonly tags: Readonly<Record<string, string>>;
  /** Name or id of the network it is to come from; `undefined`: the one there is. */
  readonly pool: string | undefined;
}

/** The node that floating IPs were made for. */
export interface FloatingIpOwner {
  readonly provider: string;
  readonly databaseId: string | undefined;
  readonly nodeId: string | undefined;
}

/**
 * Floating IPs of ours: each carries our mark, with the id of the database, in its description from the moment it is made, and
 * only those that do are ever deleted or used again. One list serves everybody who looks at the same time.
 */
export class FloatingIps {
  readonly #client: OpenStackClient;
  readonly #shared: TaskManager;
  readonly #networks: () => Promise<NetworkView>;
  /** Ids that are just being taken into use again. */
  readonly #taken = new Set<string>();

  constructor(client: OpenStackClient, shared: TaskManager, networks: () => Promise<NetworkView>) {
    this.#client = client;
    this.#shared = shared;
    this.#networks = networks;
  }

  /** All floating IPs of the project. */
  list(signal: AbortSignal): Promise<readonly FloatingIp[]> {
    return this.#shared.list('floatingips', (own) => this.#client.network.floatingIps(own), { signal });
  }

  /** One of them, out of the list that all share. */
  async find(id: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    return (await this.list(signal)).find((ip) => ip.id === id);
  }

  /**
   * Gives a server a floating IP: the one it has, one of ours that is free, or a new one.
   * @throws {LaunchError} no port of the server can have one
   */
  async attach(server: Server, order: FloatingIpOrder, signal: AbortSignal): Promise<FloatingIp> {
    const view = await this.#networks();
    const ports = await this.#shared.list('ports', (own) => this.#client.network.ports({}, own), { signal });
    const target = portForFloatingIp(server.id, ports, view);
    if (!target) throw noPort(server, ports, view);
    const known = await this.list(signal);
    const databaseId = order.tags[DATABASE_ID_TAG];
    const own = known.find((ip) => isOf(ip, { ...order, databaseId, nodeId: order.tags[NODE_ID_TAG] }));
    if (own?.portId === target.port.id) return own;
    const mark = markFor(order.tags);
    const networkId = floatingNetworkId(view, order.pool);
    const free = own ?? known.find((ip) => this.#isFree(ip, order.provider, databaseId, networkId));
    const reused = free && (await this.#reuse(free, target, mark, signal));
    if (reused) return reused;
    const wanted = { networkId, portId: target.port.id, fixedAddress: target.address, description: mark };
    const made = await this.#client.network.createFloatingIp(wanted, signal);
    if (!made)
      throw new LaunchError('network', `server "${server.name}": the cloud made a floating IP and did not say which`);
    return made;
  }

  /** The server as it is with this address, which Nova shows only later. */
  shownOn(server: Server, ip: FloatingIp): Server {
    if (server.addresses.some(({ address }) => address === ip.address)) return server;
    const inside = server.addresses.find(({ address }) => address === ip.fixedAddress) ?? server.addresses[0];
    const shown = {
      network: inside?.network ?? '',
      address: ip.address,
      version: 4 as const,
      type: 'floating' as const,
      mac: inside?.mac,
    };
    return { ...server, addresses: [...server.addresses, shown] };
  }

  /** What was made for a node, and what is on its server without a mark. @param nodeId - `undefined`: its record is gone */
  async toRelease(
    { serverId, ...owner }: FloatingIpOwner & { readonly serverId: string },
    signal: AbortSignal,
  ): Promise<{ readonly ours: readonly FloatingIp[]; readonly unmarked: readonly FloatingIp[] }> {
    const all = await this.list(signal);
    const ours = all.filter((ip) => isOf(ip, owner));
    return { ours, unmarked: await this.#unmarkedOn(serverId, all, signal) };
  }

  /** Deletes what is on a leaked server without a mark. Those with one are found by it once the server is gone. */
  async removeUnmarkedOn(serverId: string, signal: AbortSignal): Promise<void> {
    const unmarked = await this.#unmarkedOn(serverId, await this.list(signal), signal);
    for (const ip of unmarked) await this.remove(ip, signal);
  }

  /** Deletes one of ours. One that is gone counts as deleted. */
  async remove(ip: FloatingIp, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.network.deleteFloatingIp(ip.id, signal);
    } catch (error) {
      if (!isOpenStackError(error, 'not-found')) throw error;
    }
  }

  /** Those without the id of a database that are attached to a server: the original makes such, as did earlier versions. */
  async #unmarkedOn(serverId: string, all: readonly FloatingIp[], signal: AbortSignal): Promise<readonly FloatingIp[]> {
    const unmarked = all.filter(
      ({ portId, description }) => portId !== undefined && tagsIn(description)[DATABASE_ID_TAG] === undefined,
    );
    if (unmarked.length === 0) return [];
    const ports = await this.#shared.list('ports', (own) => this.#client.network.ports({}, own), { signal });
    const own = new Set(ports.filter(({ deviceId }) => deviceId === serverId).map(({ id }) => id));
    return unmarked.filter(({ portId }) => own.has(portId ?? ''));
  }

  #isFree(ip: FloatingIp, provider: string, databaseId: string | undefined, networkId: string): boolean {
    if (ip.portId !== undefined || ip.networkId !== networkId || this.#taken.has(ip.id)) return false;
    return isOurs(tagsIn(ip.description), provider, databaseId) && ip.revision !== undefined;
  }

  /** @returns `undefined`: another process has taken it meanwhile */
  async #reuse(
    ip: FloatingIp,
    { port, address }: { readonly port: { readonly id: string }; readonly address: string },
    description: string,
    signal: AbortSignal,
  ): Promise<FloatingIp | undefined> {
    this.#taken.add(ip.id);
    try {
      const to = { portId: port.id, fixedAddress: address, description };
      return await this.#client.network.attachFloatingIp(ip.id, to, ip.revision, signal);
    } catch (error) {
      if (isOpenStackError(error, 'conflict') || isOpenStackError(error, 'not-found')) return undefined;
      throw error;
    } finally {
      this.#taken.delete(ip.id);
    }
  }
}

function isOf({ description }: FloatingIp, { provider, databaseId, nodeId }: FloatingIpOwner): boolean {
  const tags = tagsIn(description);
  return isOurs(tags, provider, databaseId) && nodeId !== undefined && tags[NODE_ID_TAG] === nodeId;
}

function noPort({ id, name }: Server, ports: readonly Port[], view: NetworkView): LaunchError {
  const nameOf = (wanted: string | undefined): string =>
    view.networks.find((one) => one.id === wanted)?.name ?? wanted ?? '';
  const has = ports.filter(({ deviceId }) => deviceId === id).map(({ networkId }) => nameOf(networkId));
  const where = has.length === 0 ? 'none that the project shows' : `those in ${has.join(', ')}`;
  const wanted = view.natDestination === undefined ? '' : `; nat_destination is "${nameOf(view.natDestination)}"`;
  return new LaunchError('network', `server "${name}" has no port that a floating IP can lead to: ${where}${wanted}`);
}

function floatingNetworkId(view: NetworkView, pool: string | undefined): string {
  const wanted = pool ?? view.floatingNetwork;
  const found = view.networks.find(({ id, name }) => id === wanted || name === wanted);
  if (found) return found.id;
  throw new LaunchError('network', `floating-ip-pool "${wanted ?? ''}" is no network of the cloud`);
}
