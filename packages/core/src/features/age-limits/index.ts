import { isStandby, leaseHolding, steadyNow, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import type { Verdict } from '../../launcher/nodes/idle-nodes.js';
import { ageLimitOf } from '../../launcher/plan/nodes.js';

/** The end of a lease returns its nodes. They are deleted here if that has not happened by this time after it. */
const LEASE_MS = 5_000;

/** A node that this launcher saw become ready, or stopped. */
interface Free {
  /** When, as the record says: another time means that it was used meanwhile. */
  readonly stateTimeMs: number;
  /** Steady time. `undefined`: it may have been free before this launcher saw it. */
  readonly sinceMs: number | undefined;
}

/**
 * Deletes ready nodes older than their label's `max-ready-age`, and held nodes older than `max-hold-age` or their own
 * `hold_expiration`, whichever is shorter. Holds count by the server's clock, as that of this computer may be set. A ready node counts
 * by steady time from when this launcher saw it become ready, and one that is stopped from when it was: were it too old by a wrong
 * clock, so would be the one that replaces it.
 */
class AgeLimits implements Feature {
  readonly #engine: Engine;
  readonly #free = new Map<NodeId, Free>();
  readonly #unsubscribe: () => void;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#unsubscribe = engine.context.events.on('nodeChanged', ({ id, after }) => {
      if (after?.state === 'ready' || (after && isStandby(after))) this.#see(after);
      else this.#free.delete(id as NodeId);
    });
    engine.idle.add((node) => this.#judge(node));
  }

  stop(): void {
    this.#unsubscribe();
  }

  #judge(node: NodeRecord): Verdict | undefined {
    const { context, providers } = this.#engine;
    const limit = ageLimitOf(node, context.config.now);
    if (!limit || !providers.providerOf(node)) return undefined;
    const act = node.state === 'hold' ? 'held for its time' : 'ready for longer than max-ready-age';
    const limitMs = limit.ms + (leaseHolding(node) === undefined ? 0 : LEASE_MS);
    return { act, afterMs: Math.max(0, limitMs - this.#ageOf(node)) };
  }

  #see({ id, stateTimeMs }: NodeRecord): Free {
    let seen = this.#free.get(id);
    if (seen?.stateTimeMs === stateTimeMs) return seen;
    const { mirror, clock } = this.#engine.context;
    // what comes while records are read from the beginning may have been free for long
    seen = { stateTimeMs, sinceMs: mirror.nodes.ready ? steadyNow(clock) : undefined };
    this.#free.set(id, seen);
    return seen;
  }

  #ageOf(node: NodeRecord): number {
    const { stateTimeMs, stat } = node;
    const isFree = node.state !== 'hold';
    const { sinceMs } = (isFree && this.#see(node)) || { sinceMs: undefined };
    if (sinceMs !== undefined) return steadyNow(this.#engine.context.clock) - sinceMs;
    // a state is neither older than its record nor younger than its last change, whatever the clock of its writer says
    const { ctime, mtime } = (isFree && stat) || { ctime: -Infinity, mtime: Infinity };
    return this.#engine.serverClock.now() - Math.min(Math.max(stateTimeMs, ctime), mtime);
  }
}

/** `max-ready-age`, `max-hold-age` and `hold_expiration`. */
export const ageLimits: MakeFeature = (engine) => new AgeLimits(engine);
