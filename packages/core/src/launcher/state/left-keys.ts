import {
  type LeaseCache,
  type LeaseKeyHost,
  type LeaseRecord,
  type NodeId,
  type RecordChange,
} from '@nodepool/zk-protocol';
import type { LeftKeyHost } from '../../contract/driver.js';
import type { LauncherEvents } from './events.js';
import type { Mirror } from './mirror.js';

/** Equal for the same login. */
export const loginId = ({ host, port, username }: LeftKeyHost): string => JSON.stringify([host, port, username]);

/**
 * Whether the key of a lessee is left on a host that its lease does not hold any more, or could not be removed from it. Until it
 * is removed, the host must not be lent.
 */
export function isKeyLeft({ nodeId, error }: LeaseKeyHost, { nodes }: Pick<Mirror, 'nodes'>): boolean {
  if (error !== null) return true;
  const node = nodes.get(nodeId);
  // the mirror may show the lease before it shows the node on hold for it
  const isHeld = node?.state === 'hold' || (node?.state === 'ready' && node.allocatedTo !== null);
  return !isHeld;
}

/** Hosts with keys of lessees, from the records of leases, so that all launchers know them, also after a restart. */
export class LeftKeys {
  readonly #mirror: Mirror;
  readonly #events: LauncherEvents;
  /** By login, and then by node, with the lease. */
  readonly #byLogin = new Map<string, Map<NodeId, { readonly lease: string; readonly keyHost: LeaseKeyHost }>>();
  readonly #byNode = new Map<NodeId, LeaseKeyHost>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(leases: LeaseCache, mirror: Mirror, events: LauncherEvents) {
    this.#mirror = mirror;
    this.#events = events;
    this.#unsubscribe = [
      leases.onChange((change) => this.#leaseChanged(change)),
      events.on('nodeChanged', ({ id }) => {
        const keyHost = this.#byNode.get(id as NodeId);
        if (keyHost) this.#events.emit('leftKeysChanged', keyHost);
      }),
    ];
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Why the host must not be lent, a clause for people; `undefined`: no key is left there. */
  on(login: LeftKeyHost): string | undefined {
    for (const { lease, keyHost } of this.#byLogin.get(loginId(login))?.values() ?? []) {
      if (!isKeyLeft(keyHost, this.#mirror)) continue;
      return `the SSH key of lease ${lease} is not removed from it yet${keyHost.error === null ? '' : `: ${keyHost.error}`}`;
    }
    return undefined;
  }

  #leaseChanged({ id, before, after }: RecordChange<LeaseRecord>): void {
    const gone = before?.keyHosts ?? [];
    const now = after?.keyHosts ?? [];
    if (gone.length === 0 && now.length === 0) return;
    for (const keyHost of gone) {
      const key = loginId(keyHost);
      const byNode = this.#byLogin.get(key);
      byNode?.delete(keyHost.nodeId);
      if (byNode?.size === 0) this.#byLogin.delete(key);
      this.#byNode.delete(keyHost.nodeId);
    }
    for (const keyHost of now) {
      const key = loginId(keyHost);
      const byNode = this.#byLogin.get(key) ?? new Map<NodeId, { lease: string; keyHost: LeaseKeyHost }>();
      this.#byLogin.set(key, byNode.set(keyHost.nodeId, { lease: id, keyHost }));
      this.#byNode.set(keyHost.nodeId, keyHost);
    }
    for (const keyHost of [...gone, ...now]) this.#events.emit('leftKeysChanged', keyHost);
  }
}
