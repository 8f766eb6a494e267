import { isLent, isIdle, steadyNow, WRONG_CLOCK_MS, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import type { Verdict } from '../../launcher/nodes/idle-nodes.js';
import { ageLimitOf } from '../../launcher/plan/nodes.js';

/** A lent node is returned at the end of its time. It is deleted here if that has not happened by this time after it. */
const RETURN_MS = 5_000;

/** A node that this launcher saw become ready, stopped or held. */
interface Idle {
  /** When, as the record says: another time means that it was used meanwhile. */
  readonly stateTimeMs: number;
  /** Steady time. `undefined`: it may have been so before this launcher saw it. */
  readonly sinceMs: number | undefined;
}

/**
 * Deletes ready nodes older than their label's `max-ready-age`, and held nodes older than `max-hold-age` or their own
 * `hold_expiration`, whichever is shorter. Holds count by the server's clock, as that of this computer may be set, if its holder's clock
 * agrees; all others by steady time from when this launcher saw the node become ready, stopped or held: were it too old by a wrong
 * clock, so would be the one that replaces it.
 */
class AgeLimits implements Feature {
  readonly #engine: Engine;
  readonly #idle = new Map<NodeId, Idle>();
  readonly #unsubscribe: () => void;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#unsubscribe = engine.context.events.on('nodeChanged', ({ id, after }) => {
      if (after && (after.state === 'ready' || after.state === 'hold' || isIdle(after))) this.#see(after);
      else this.#idle.delete(id as NodeId);
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
    const limitMs = limit.ms + (isLent(node) ? RETURN_MS : 0);
    return { act, afterMs: Math.max(0, limitMs - this.#ageOf(node)) };
  }

  #see({ id, state, stateTimeMs }: NodeRecord): Idle {
    let seen = this.#idle.get(id);
    if (seen?.stateTimeMs === stateTimeMs) return seen;
    const { serverClock, context } = this.#engine;
    const { mirror, clock } = context;
    const isTrusted = state === 'hold' && Math.abs(serverClock.now() - stateTimeMs) <= WRONG_CLOCK_MS;
    // what comes while records are read from the beginning may have been idle for long
    seen = { stateTimeMs, sinceMs: mirror.nodes.ready && !isTrusted ? steadyNow(clock) : undefined };
    this.#idle.set(id, seen);
    return seen;
  }

  #ageOf(node: NodeRecord): number {
    const { stateTimeMs, stat } = node;
    const isFree = node.state !== 'hold';
    const { sinceMs } = this.#see(node);
    if (sinceMs !== undefined) return steadyNow(this.#engine.context.clock) - sinceMs;
    // a state is neither older than its record nor younger than its last change, whatever the clock of its writer says
    const { ctime, mtime } = (isFree && stat) || { ctime: -Infinity, mtime: Infinity };
    return this.#engine.serverClock.now() - Math.min(Math.max(stateTimeMs, ctime), mtime);
  }
}

/** `max-ready-age`, `max-hold-age` and `hold_expiration`. */
export const ageLimits: MakeFeature = (engine) => new AgeLimits(engine);
