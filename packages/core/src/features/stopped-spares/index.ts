import { isDeepStrictEqual } from 'node:util';
import {
  delay,
  isFree,
  isNodepoolError,
  isStartable,
  isParked,
  isZooKeeperError,
  nodeLockPath,
  PARKED_KEY,
  withNode,
  ZooKeeperError,
  type Clock,
  type JsonObject,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { countedClock } from '../../async/counted-clock.js';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { Provider } from '../../contract/driver.js';
import { isRateLimited } from '../../contract/errors.js';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import type { Verdict } from '../../launcher/nodes/idle-nodes.js';
import { removeAbandonedLocks } from '../../launcher/requests/abandoned.js';
import { sinceWrittenMs } from '../../launcher/state/server-clock.js';
import { createdPath, isRefusal, setNode, Transaction } from '../../launcher/state/transaction.js';

/** Conditions of stopped nodes. */
export const CONDITIONS = {
  NotStopped: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'standby nodes of a label with `keep: stopped` are not stopped',
    reasons: {
      PoolUnaware:
        'a pool with the label does not know stopped nodes, as it is of the original or of an older release: its launcher would ' +
        'request more and more of them',
      FilesDiffer:
        'the launcher that decides, whose pool with the label was registered first, has no `keep: stopped` for it',
    },
    nextStep: 'stop or update the launcher of that pool, or give all launchers the same `standby`',
  },
} as const satisfies ConditionTypes;

/** A node that has been free for less time stays: a request may be about to take it. */
const GRACE_MS = 5_000;
/** The instance is being stopped; see `isStartable` for what follows. */
const STOPPING = { stopping: true } as const;
/** While the cloud does not answer, a stop is tried so often, at this distance: for half an hour. */
const MAX_TRIES = 60;
const RETRY_MS = 30_000;
/** After this time a stop without an answer has taken effect, or never does: earlier it could power off a machine that is lent. */
const SETTLED_AFTER_MS = 600_000;
const COMMENT = 'standby node, stopped until a request needs it';

/** After a node could not be stopped, no others of its labels are for so long. */
const OFF_MS = 86_400_000;

/** Why nodes are not stopped, and what helps. */
interface StopBlocker {
  readonly reason: 'PoolUnaware' | 'FilesDiffer';
  readonly message: string;
  readonly nextStep: string;
}

const nameOf = ({ providerName, name, hostname }: PoolComponentRecord) =>
  `pool ${providerName}/${name} of launcher ${hostname}`;

/**
 * Stops the free nodes of labels with `keep: stopped`, up to the number on standby. A request for which nothing is ready has one started, which is a launch that
 * continues. The record leaves `ready` before the instance is stopped, so that no launcher lends it in between.
 */
class StoppedSpares implements Feature {
  readonly #engine: Engine;
  readonly #clock: Pick<Clock, 'now'>;
  /** Until when no nodes are stopped, by provider and label, and why. */
  readonly #off = new Map<string, { readonly untilMs: number; readonly why: string }>();
  readonly #busy = new Set<NodeId>();
  readonly #unsubscribe: () => void;

  constructor(engine: Engine) {
    const { context, idle, registry } = engine;
    this.#engine = engine;
    this.#clock = countedClock(context.clock);
    this.#unsubscribe = context.events.on('poolChanged', ({ before, after }) => {
      if (!isDeepStrictEqual(before?.raw[PARKED_KEY], after?.raw[PARKED_KEY])) idle.reconsider();
    });
    registry.announce((labels) => ({ [PARKED_KEY]: labels.filter((label) => this.#isWanted(label)) }));
    idle.add((node) => this.#judge(node));
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** What `explain` says about stopped nodes of the label; `undefined`: it keeps none. */
  explain(label: string): string | undefined {
    const { config, mirror } = this.#engine.context;
    if (!this.#isWanted(label)) return undefined;
    const whyNot = [...config.now.providers.keys()].flatMap((provider) => {
      const why = this.#whyOff(provider, label);
      return why === undefined ? [] : [`; provider "${provider}" stops none ${why}`];
    });
    const blocker = this.#blocker(label);
    if (blocker) whyNot.unshift(`; no more are stopped: ${blocker.message}`);
    return `${mirror.parkedCount(label)} of them stopped, to be started for a request${whyNot.join('')}`;
  }

  /** Why no nodes of the label are stopped although the configuration says so; `undefined`: they are. */
  #blocker(label: string): StopBlocker | undefined {
    if (!this.#isWanted(label)) return undefined;
    const { first, unaware } = this.#engine.views.sharers(label);
    if (unaware) {
      const message = `${nameOf(unaware)} does not know stopped nodes`;
      const nextStep = 'none, if it is stopped or updated soon; else remove `keep: stopped`';
      return { reason: 'PoolUnaware', message, nextStep };
    }
    if (!first || this.#isKept(label) !== false) return undefined;
    const message = `${nameOf(first)}, which decides, has no \`keep: stopped\` for it`;
    return { reason: 'FilesDiffer', message, nextStep: 'give all launchers the same `standby` for it' };
  }

  /** Labels with `keep: stopped` whose nodes are not stopped. */
  conditions(): FoundCondition[] {
    return [...this.#engine.context.config.now.labels.keys()].flatMap((name) => {
      const found = this.#blocker(name);
      return found ? [newCondition(CONDITIONS, 'NotStopped', { name, ...found })] : [];
    });
  }

  #isWanted(label: string): boolean {
    return this.#engine.context.config.now.labels.get(label)?.keep === 'stopped';
  }

  /**
   * Whether standby nodes of the label are stopped: the first launcher decides, and none is while a pool does not know stopped nodes.
   * `undefined`: not known yet.
   */
  #isKept(label: string): boolean | undefined {
    const { views } = this.#engine;
    const { first, unaware } = views.sharers(label);
    if (!first) return undefined;
    if (views.isFirstFor(label)) return this.#isWanted(label);
    const theirs = first.raw[PARKED_KEY];
    return Array.isArray(theirs) ? theirs.includes(label) : unaware ? undefined : false;
  }

  #whyOff(provider: string, label: string): string | undefined {
    const off = this.#off.get(keyOf(provider, label));
    if (!off || off.untilMs <= this.#clock.now()) return undefined;
    return `until ${new Date(off.untilMs).toISOString().slice(0, 16).replace('T', ' ')} UTC: ${off.why}`;
  }

  #switchOff({ provider, labels }: NodeRecord, error: Error): void {
    const off = { untilMs: this.#clock.now() + OFF_MS, why: `one could not be stopped: ${error.message}` };
    for (const label of labels) this.#off.set(keyOf(provider ?? '', label), off);
  }

  #judge(node: NodeRecord): Verdict | undefined {
    const runner = this.#engine.providers.runnerOf(node);
    if (!runner?.running) return undefined;
    if (isParked(node)) {
      const why = isStartable(node) ? this.#whyUnwanted(node) : 'its launcher died while it was stopping it';
      return why === undefined ? undefined : { act: why };
    }
    if (!isFree(node) || !this.#mayStop(node)) return undefined;
    if (node.labels.some((label) => this.#whyOff(runner.name, label) !== undefined)) return undefined;
    const afterMs = Math.max(0, GRACE_MS - sinceWrittenMs(node, this.#engine.serverClock));
    return { act: (signal) => this.#run(node, runner.provider, signal), afterMs };
  }

  #mayStop(node: NodeRecord): boolean {
    return this.#canStop(node) && node.labels.every((label) => this.#stopsOneMore(label));
  }

  /** Whether a node more of the label is to be stopped, also with those that are being stopped. */
  #stopsOneMore(label: string): boolean {
    if (!this.#isKept(label) || this.#engine.views.sharers(label).unaware) return false;
    const { mirror } = this.#engine.context;
    let stopped = mirror.parkedCount(label);
    for (const id of this.#busy) {
      const node = mirror.nodes.get(id);
      if (node && !isParked(node) && node.labels.includes(label)) stopped++;
    }
    return stopped < (this.#engine.freeNodes?.mostParked(label) ?? 0);
  }

  #canStop(node: NodeRecord): boolean {
    const runner = this.#engine.providers.runnerOf(node);
    const pool = runner?.config.pools.get(node.pool ?? '');
    if (!runner?.stops || !pool || typeof node.externalId !== 'string') return false;
    return node.labels.every((label) => pool.labels.has(label));
  }

  /** Why a stopped node is not kept; `undefined`: it is. */
  #whyUnwanted(node: NodeRecord): string | undefined {
    const { labels } = this.#engine.context.config.now;
    const gone = node.labels.find((label) => !labels.has(label));
    if (gone !== undefined) return `label "${gone}" is not in the configuration`;
    const isKept = node.labels.every((label) => this.#isKept(label) !== false);
    return isKept && this.#canStop(node) ? undefined : 'its label does not keep stopped nodes';
  }

  async #run(node: NodeRecord, provider: Provider, signal: AbortSignal): Promise<void> {
    const { zk, logger, mirror } = this.#engine.context;
    const { id } = node;
    const epoch = zk.sessionEpoch;
    if (!mirror.claim(id, this)) return;
    this.#busy.add(id);
    try {
      await this.#stopNode(node, provider, signal);
    } catch (error) {
      if (isRefusal(error)) {
        logger.debug('Node changed before it was stopped', { nodeId: id, change: error.kind });
      } else {
        logger.warn('Stopping a standby node was interrupted', { nodeId: id, error });
      }
      await removeAbandonedLocks(this.#engine.context, { nodes: [id] }, epoch, signal);
    } finally {
      mirror.unclaim(id, this);
      this.#busy.delete(id);
    }
  }

  /**
   * If the launcher dies meanwhile, the node is `testing` and not locked, and the next launcher deletes it: the call to stop it may
   * take effect late.
   */
  async #stopNode(node: NodeRecord, provider: Provider, signal: AbortSignal): Promise<void> {
    const { mirror, committer, clock, zk, logger } = this.#engine.context;
    const epoch = zk.sessionEpoch;
    const lock = new Transaction<'lock' | 'record'>();
    const index = lock.lock('lock', nodeLockPath(node.id), mirror.nodes.hasLockDirectory(node.id));
    const stopping = { state: 'testing', launchState: STOPPING, comment: COMMENT } as const;
    lock.add('record', setNode(withNode(node, stopping, clock.now(), 'launcher')));
    const entry = createdPath(await lock.commit(committer), index);
    const locked = mirror.nodes.get(node.id) ?? node;
    const changes = await this.#callDriver(locked, { provider, epoch, signal });
    if (zk.sessionEpoch !== epoch || signal.aborted) return;
    const unlock = new Transaction<'lock' | 'record'>();
    unlock.add('record', setNode(withNode(mirror.nodes.get(node.id) ?? locked, changes, clock.now(), 'launcher')));
    unlock.add('lock', { op: 'delete', path: entry });
    await unlock.commit(committer);
    const { provider: of, externalId } = node;
    if (changes.state === undefined)
      logger.info('Stopped a standby node', { nodeId: node.id, provider: of, externalId });
  }

  /** @returns what to store; a node that cannot be stopped is deleted, as nothing is known about its instance */
  async #callDriver(node: NodeRecord, stop: Stop): Promise<NodeFields> {
    const { provider, signal } = stop;
    try {
      const launchState = await this.#stopInstance(node, stop);
      if (launchState) return { launchState };
      throw new Error(`driver "${provider.config.driverName}" stops no nodes`);
    } catch (error) {
      if (isZooKeeperError(error)) throw error;
      if (!signal.aborted) {
        this.#engine.context.logger.warn('A standby node could not be stopped; deleting it', {
          nodeId: node.id,
          error,
        });
        if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) this.#switchOff(node, asError(error));
      }
      return { state: 'deleting' };
    }
  }

  /** @throws {ZooKeeperError} the session that locked the node has ended: another launcher may have lent it */
  async #checkLocked({ epoch, signal }: Stop): Promise<void> {
    const { zk, life } = this.#engine.context;
    await life.orders.give(() => Promise.resolve(), signal); // waits until the session is known to be alive
    if (zk.sessionEpoch !== epoch)
      throw new ZooKeeperError('ZK_SESSION_EXPIRED', 'the session that had locked the node has ended');
  }

  /**
   * Tries again while the cloud does not answer. The node is not lent meanwhile, nor for a while after the last stop without an answer:
   * that one may take effect late, although another stop has succeeded.
   */
  async #stopInstance(node: NodeRecord, stop: Stop): Promise<JsonObject | undefined> {
    const { provider, signal } = stop;
    let isSettled = true;
    for (let tries = 1; ; tries++) {
      try {
        await this.#checkLocked(stop);
        // a changed configuration replaces the provider
        const stopped = await (this.#engine.providers.runnerOf(node)?.provider ?? provider).stopNode?.(node, signal);
        if (!isSettled) await delay(this.#engine.context.clock, SETTLED_AFTER_MS, signal);
        return stopped;
      } catch (error) {
        if (tries === MAX_TRIES || signal.aborted || !isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE'))
          throw error;
        isSettled &&= isRateLimited(error); // such an answer says that nothing was done
        if (tries === 1)
          this.#engine.context.logger.warn('The stop of a standby node is tried again', { nodeId: node.id, error });
        await delay(this.#engine.context.clock, RETRY_MS, signal);
      }
    }
  }
}

/** A stop that has begun. */
interface Stop {
  readonly provider: Provider;
  /** Of the session that has locked the node. */
  readonly epoch: number;
  readonly signal: AbortSignal;
}

const keyOf = (provider: string, label: string) => JSON.stringify([provider, label]);

/** Standby nodes that are stopped until a request needs them. */
export const stoppedSpares: MakeFeature = (engine) => new StoppedSpares(engine);
