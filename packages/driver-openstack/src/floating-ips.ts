import { DATABASE_ID_TAG, isOurs, LaunchError, type NodeRecord, type TaskManager } from '@nodepool/core';
import { portForFloatingIp, type NetworkView } from './addresses.js';
import type { OpenStackClient } from './client/client.js';
import type { Server } from './client/compute.js';
import { isOpenStackError } from './client/errors.js';
import type { FloatingIp, FloatingIpRequest, Port } from './client/network.js';
import { markFor, tagsIn } from './mark.js';

/** The node of a floating IP. */
export interface FloatingIpOrder {
  readonly provider: string;
  readonly node: NodeRecord;
  /** Tags of the node, with the id of the database. */
  readonly tags: Readonly<Record<string, string>>;
  /** Name or id of its network; `undefined`: the only one. */
  readonly pool: string | undefined;
}

/** The owner of floating IPs. */
export interface FloatingIpOwner {
  readonly provider: string;
  readonly databaseId: string | undefined;
  readonly node: NodeRecord | undefined;
}

/**
 * Own floating IPs. Each has a tag with the database id in its description from its creation. Only tagged floating IPs are
 * deleted or reused. Concurrent callers share one list.
 */
export class FloatingIps {
  readonly #client: OpenStackClient;
  readonly #shared: TaskManager;
  readonly #networks: () => Promise<NetworkView>;
  /** Ids that are being reused now. */
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

  /** One floating IP from the shared list. */
  async find(id: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    return (await this.list(signal)).find((ip) => ip.id === id);
  }

  /**
   * Gives a server a floating IP: its present one, a free own one, or a new one.
   * @throws {LaunchError} no port of the server can have one
   */
  async attach(server: Server, order: FloatingIpOrder, signal: AbortSignal): Promise<FloatingIp> {
    const view = await this.#networks();
    const ports = await this.#shared.list('ports', (own) => this.#client.network.ports({}, own), { signal });
    const target = portForFloatingIp(server.id, ports, view);
    if (!target) throw noPort(server, ports, view);
    const known = await this.list(signal);
    const databaseId = order.tags[DATABASE_ID_TAG];
    const own = known.find((ip) => isOf(ip, { ...order, databaseId }));
    if (own?.portId === target.port.id) return own;
    const mark = markFor(order.tags);
    const networkId = floatingNetworkId(view, order.pool);
    const free = own ?? known.find((ip) => this.#isFree(ip, order.provider, databaseId, networkId));
    const reused = free && (await this.#reuse(free, target, mark, signal));
    if (reused) return reused;
    return this.#create(
      server,
      { networkId, portId: target.port.id, fixedAddress: target.address, description: mark },
      signal,
    );
  }

  /** The server with this address, which Nova reports with a delay. */
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

  /** Floating IPs of a node, and untagged ones on its server. @param node - `undefined`: the record is deleted */
  async toRelease(
    { serverId, ...owner }: FloatingIpOwner & { readonly serverId: string },
    signal: AbortSignal,
  ): Promise<{ readonly ours: readonly FloatingIp[]; readonly unmarked: readonly FloatingIp[] }> {
    const all = await this.list(signal);
    const ours = all.filter((ip) => isOf(ip, owner));
    return { ours, unmarked: await this.#unmarkedOn(serverId, all, signal) };
  }

  /** Deletes untagged floating IPs of a leaked server. Tagged ones are found after the server is deleted. */
  async removeUnmarkedOn(serverId: string, signal: AbortSignal): Promise<void> {
    const unmarked = await this.#unmarkedOn(serverId, await this.list(signal), signal);
    for (const ip of unmarked) await this.remove(ip, signal);
  }

  /** Deletes an own floating IP. A missing one counts as deleted. */
  async remove(ip: FloatingIp, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.network.deleteFloatingIp(ip.id, signal);
    } catch (error) {
      if (!isOpenStackError(error, 'not-found')) throw error;
    }
  }

  /** Attached floating IPs without a database id, of the Python implementation or an earlier version. */
  async #unmarkedOn(serverId: string, all: readonly FloatingIp[], signal: AbortSignal): Promise<readonly FloatingIp[]> {
    const unmarked = all.filter(
      ({ portId, description }) => portId !== undefined && tagsIn(description)[DATABASE_ID_TAG] === undefined,
    );
    if (unmarked.length === 0) return [];
    const ports = await this.#shared.list('ports', (own) => this.#client.network.ports({}, own), { signal });
    const own = new Set(ports.filter(({ deviceId }) => deviceId === serverId).map(({ id }) => id));
    return unmarked.filter(({ portId }) => own.has(portId ?? ''));
  }

  async #create(server: Server, wanted: FloatingIpRequest, signal: AbortSignal): Promise<FloatingIp> {
    let made: FloatingIp | undefined;
    try {
      made = await this.#client.network.createFloatingIp(wanted, signal);
    } catch (error) {
      // Neutron may have been carrying out the order of a launcher that is gone.
      const same = isOpenStackError(error, 'conflict') && (await this.list(signal)).find((ip) => isSame(ip, wanted));
      if (!same) throw error;
      made = same;
    }
    if (made) return made;
    const message = `server "${server.name}": the cloud created a floating IP without returning its id`;
    throw new LaunchError('network', message);
  }

  #isFree(ip: FloatingIp, provider: string, databaseId: string | undefined, networkId: string): boolean {
    if (ip.portId !== undefined || ip.networkId !== networkId || this.#taken.has(ip.id)) return false;
    return isOurs(tagsIn(ip.description), provider, databaseId) && ip.revision !== undefined;
  }

  /** @returns `undefined`: another process took it in the meantime */
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

function isSame({ portId, description }: FloatingIp, wanted: FloatingIpRequest): boolean {
  return portId === wanted.portId && description === wanted.description;
}

function isOf({ description }: FloatingIp, { provider, databaseId, node }: FloatingIpOwner): boolean {
  return node !== undefined && isOurs(tagsIn(description), provider, databaseId, node);
}

function noPort({ id, name }: Server, ports: readonly Port[], view: NetworkView): LaunchError {
  const nameOf = (wanted: string | undefined): string =>
    view.networks.find((one) => one.id === wanted)?.name ?? wanted ?? '';
  const has = ports.filter(({ deviceId }) => deviceId === id).map(({ networkId }) => nameOf(networkId));
  const where = has.length === 0 ? 'none are visible to the project' : `those in ${has.join(', ')}`;
  const wanted = view.natDestination === undefined ? '' : `; nat_destination is "${nameOf(view.natDestination)}"`;
  return new LaunchError('network', `server "${name}" has no port that a floating IP can lead to: ${where}${wanted}`);
}

function floatingNetworkId(view: NetworkView, pool: string | undefined): string {
  const wanted = pool ?? view.floatingNetwork;
  const found = view.networks.find(({ id, name }) => id === wanted || name === wanted);
  if (found) return found.id;
  throw new LaunchError('network', `floating-ip-pool "${wanted ?? ''}" is not a network of the cloud`);
}
