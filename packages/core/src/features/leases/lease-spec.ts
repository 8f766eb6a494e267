import { NodepoolError, type NewLease } from '@nodepool/zk-protocol';

/** A lease to request. */
export type LeaseSpec = Omit<NewLease, 'slots' | 'keeper' | 'dueTimeMs'> & {
  /** How long it waits; `null`: without a limit. */
  readonly giveUpMs: number | null;
  /** Most nodes that the token may have at a time; `null`: no limit. */
  readonly maxNodes: number | null;
  /** Version of the token's record; `undefined`: the token is not stored in ZooKeeper. */
  readonly tokenVersion: number | undefined;
};

/** The token would have more nodes than it may. */
export class LeaseLimitError extends NodepoolError {
  /** @param isSoonFree - whether it may have them as soon as the nodes of its leases that are over are deleted */
  constructor(
    token: string,
    maxNodes: number,
    readonly isSoonFree: boolean,
  ) {
    const nodes = maxNodes === 1 ? '1 node' : `${maxNodes} nodes`;
    const why = isSoonFree
      ? '; nodes of its ended leases are still being deleted: repeat it soon'
      : ', those it waits for and those being deleted included';
    super('NODEPOOL_LEASE_LIMIT', `Token "${token}" may have ${nodes} at a time${why}`);
  }
}

/** The lease would last longer than `max-hold-age` of the configuration. */
export class LeaseAgeError extends NodepoolError {
  /** @param leftMs - how long it may still last */
  constructor(
    maxHoldAgeMs: number,
    readonly leftMs: number,
  ) {
    const left = `${Math.max(0, Math.floor(leftMs / 1000))} s are left`;
    super(
      'NODEPOOL_LEASE_AGE',
      `max-hold-age of the configuration ends a lease after ${maxHoldAgeMs / 1000} s: ${left}`,
    );
  }
}

/** The lease has lost nodes, so it cannot be renewed. */
export class LeaseNodesLostError extends NodepoolError {
  /** @param why - default: they are not held any more */
  constructor(lease: string, lost: readonly string[], why = 'failed, deleted by an operator, or held for their time') {
    super(
      'NODEPOOL_LEASE_NODES_LOST',
      `Lease ${lease} has lost ${lost.join(', ')}: ${why}. Return it, and request another`,
    );
  }
}

/** There is a lease of this id whose record this launcher cannot read. */
export class LeaseUnreadableError extends NodepoolError {
  constructor(lease: string) {
    super(
      'NODEPOOL_LEASE_UNREADABLE',
      `Lease ${lease} has a record that this launcher cannot read, perhaps one of a newer release: ask another launcher, or use another key`,
    );
  }
}
