import {
  delay,
  isFree,
  isNodepoolError,
  isStopped,
  isStoppedSpare,
  isZooKeeperError,
  nodeLockPath,
  withNode,
  type Clock,
  type JsonObject,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { Provider } from '../../contract/driver.js';
import { isRateLimited } from '../../contract/errors.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { PoolViews } from '../view/pool-views.js';
import { removeAbandonedLocks } from '../requests/abandoned.js';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';
import { sinceWrittenMs } from '../state/server-clock.js';
import { createdPath, isRefusal, setNode, Transaction } from '../state/transaction.js';
import type { IdleNodes, Verdict } from './idle-nodes.js';
import type { StandbyGoals } from './standby-goals.js';
import { StartGain } from './start-gain.js';

/** A node that has been free for less time stays: a request may be about to take it. */
const GRACE_MS = 5_000;
/** The instance is being stopped; see `isStopped` for what follows. */
const STOPPING = { stopping: true } as const;
/** While the cloud does not answer, a stop is tried so often, at this distance: for half an hour. */
const MAX_TRIES = 60;
const RETRY_MS = 30_000;
/** After this time a stop without an answer has taken effect, or never does: earlier it could power off a machine that is lent. */
const SETTLED_AFTER_MS = 600_000;
const COMMENT = 'standby node, stopped until a request needs it';

/** Why nodes are not stopped. */
export interface StopHindrance {
  readonly reason: 'PoolUnaware' | 'FilesDiffer';
  readonly message: string;
}

const nameOf = ({ providerName, name, hostname }: PoolComponentRecord) =>
  `pool ${providerName}/${name} of launcher ${hostname}`;

/**
 * Stops the free nodes of labels with `keep: stopped`, up to the number on standby. A request for which nothing is ready has one started, which is a launch that
 * continues. The record leaves `ready` before the instance is stopped, so that no launcher lends it in between.
 */
export class StoppedSpares implements Part {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #views: PoolViews;
  readonly #goals: Pick<StandbyGoals, 'mostStopped'>;
  readonly #serverClock: Pick<Clock, 'now'>;
  readonly #gain: StartGain;
  readonly #busy = new Set<NodeId>();
  readonly #unsubscribe: () => void;

  constructor(
    context: Context,
    idle: Pick<IdleNodes, 'add' | 'reconsider'>,
    providers: ProviderSet,
    views: PoolViews,
    goals: Pick<StandbyGoals, 'mostStopped'>,
    serverClock: Pick<Clock, 'now'>,
  ) {
    this.#context = context;
    this.#providers = providers;
    this.#views = views;
    this.#goals = goals;
    this.#serverClock = serverClock;
    this.#gain = new StartGain(context);
    this.#unsubscribe = context.events.on('poolChanged', ({ before, after }) => {
      if (before?.stoppedSpares?.join() !== after?.stoppedSpares?.join()) idle.reconsider();
    });
    idle.add((node) => this.#judge(node));
  }

  stop(): void {
    this.#unsubscribe();
    this.#gain.stop();
  }

  /** What `explain` says about stopped nodes of the label; `undefined`: it keeps none. */
  explain(label: string): string | undefined {
    const { config, mirror } = this.#context;
    if (config.now.labels.get(label)?.keep !== 'stopped') return undefined;
    const whyNot = [...config.now.providers.keys()].flatMap((provider) => {
      const why = this.#gain.whyNot(provider, label);
      return why === undefined ? [] : [`; provider "${provider}" stops none ${why}`];
    });
    const hindrance = this.hindrance(label);
    if (hindrance) whyNot.unshift(`; no more are stopped: ${hindrance.message}`);
    return `${mirror.stoppedCount(label)} of them stopped, to be started for a request${whyNot.join('')}`;
  }

  /** Why no nodes of the label are stopped although the configuration says so; `undefined`: they are. */
  hindrance(label: string): StopHindrance | undefined {
    if (this.#context.config.now.labels.get(label)?.keep !== 'stopped') return undefined;
    const { first, unaware } = this.#views.sharers(label);
    if (unaware) return { reason: 'PoolUnaware', message: `${nameOf(unaware)} does not know stopped nodes` };
    if (!first || this.#views.keepsStopped(label) !== false) return undefined;
    return { reason: 'FilesDiffer', message: `${nameOf(first)}, which decides, has no \`keep: stopped\` for it` };
  }

  #judge(node: NodeRecord): Verdict | undefined {
    const runner = this.#providers.runnerOf(node);
    if (!runner?.running) return undefined;
    if (isStoppedSpare(node)) {
      const why = isStopped(node) ? this.#whyUnwanted(node) : 'its launcher died while it was stopping it';
      return why === undefined ? undefined : { act: why };
    }
    if (!isFree(node) || !this.#mayStop(node)) return undefined;
    if (node.labels.some((label) => this.#gain.whyNot(runner.name, label) !== undefined)) return undefined;
    const afterMs = Math.max(0, GRACE_MS - sinceWrittenMs(node, this.#serverClock));
    return { act: (signal) => this.#run(node, runner.provider, signal), afterMs };
  }

  #mayStop(node: NodeRecord): boolean {
    return this.#canStop(node) && node.labels.every((label) => this.#stopsOneMore(label));
  }

  /** Whether a node more of the label is to be stopped, also with those that are being stopped. */
  #stopsOneMore(label: string): boolean {
    if (!this.#views.keepsStopped(label) || this.#views.sharers(label).unaware) return false;
    const { mirror } = this.#context;
    let stopped = mirror.stoppedCount(label);
    for (const id of this.#busy) {
      const node = mirror.nodes.get(id);
      if (node && !isStoppedSpare(node) && node.labels.includes(label)) stopped++;
    }
    return stopped < this.#goals.mostStopped(label);
  }

  #canStop(node: NodeRecord): boolean {
    const runner = this.#providers.runnerOf(node);
    const pool = runner?.config.pools.get(node.pool ?? '');
    if (!runner?.stops || !pool || typeof node.externalId !== 'string') return false;
    return node.labels.every((label) => pool.labels.has(label));
  }

  /** Why a stopped node is not kept; `undefined`: it is. */
  #whyUnwanted(node: NodeRecord): string | undefined {
    const { labels } = this.#context.config.now;
    const gone = node.labels.find((label) => !labels.has(label));
    if (gone !== undefined) return `label "${gone}" is not in the configuration`;
    const isKept = node.labels.every((label) => this.#views.keepsStopped(label) !== false);
    return isKept && this.#canStop(node) ? undefined : 'its label does not keep stopped nodes';
  }

  async #run(node: NodeRecord, provider: Provider, signal: AbortSignal): Promise<void> {
    const { zk, logger, mirror } = this.#context;
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
        await removeAbandonedLocks(this.#context, { nodes: [id] }, epoch, signal);
      }
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
    const { mirror, committer, clock, zk, logger } = this.#context;
    const epoch = zk.sessionEpoch;
    const lock = new Transaction<'lock' | 'record'>();
    const index = lock.lock('lock', nodeLockPath(node.id), mirror.nodes.hasLockDirectory(node.id));
    const stopping = { state: 'testing', launchState: STOPPING, comment: COMMENT } as const;
    lock.add('record', setNode(withNode(node, stopping, clock.now(), 'launcher')));
    const entry = createdPath(await lock.commit(committer), index);
    const changes = await this.#callDriver(mirror.nodes.get(node.id) ?? node, provider, signal);
    if (zk.sessionEpoch !== epoch || signal.aborted) return;
    const unlock = new Transaction<'lock' | 'record'>();
    const locked = mirror.nodes.get(node.id) ?? node;
    unlock.add('record', setNode(withNode(locked, changes, clock.now(), 'launcher')));
    unlock.add('lock', { op: 'delete', path: entry });
    await unlock.commit(committer);
    const { provider: of, externalId } = node;
    if (changes.state === undefined)
      logger.info('Stopped a standby node', { nodeId: node.id, provider: of, externalId });
  }

  /** @returns what to store; a node that cannot be stopped is deleted, as nothing is known about its instance */
  async #callDriver(node: NodeRecord, provider: Provider, signal: AbortSignal): Promise<NodeFields> {
    try {
      const launchState = await this.#stopInstance(node, provider, signal);
      if (launchState) return { launchState };
      throw new Error(`driver "${provider.config.driverName}" stops no nodes`);
    } catch (error) {
      if (isZooKeeperError(error)) throw error;
      if (!signal.aborted) {
        this.#context.logger.warn('A standby node could not be stopped; deleting it', { nodeId: node.id, error });
        if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) this.#gain.stopFailed(node, asError(error));
      }
      return { state: 'deleting' };
    }
  }

  /**
   * Tries again while the cloud does not answer. The node is not lent meanwhile, nor for a while after the last stop without an answer:
   * that one may take effect late, although another stop has succeeded.
   */
  async #stopInstance(node: NodeRecord, provider: Provider, signal: AbortSignal): Promise<JsonObject | undefined> {
    let isSettled = true;
    for (let tries = 1; ; tries++) {
      try {
        // a changed configuration replaces the provider
        const stopped = await (this.#providers.runnerOf(node)?.provider ?? provider).stopNode?.(node, signal);
        if (!isSettled) await delay(this.#context.clock, SETTLED_AFTER_MS, signal);
        return stopped;
      } catch (error) {
        if (tries === MAX_TRIES || signal.aborted || !isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE'))
          throw error;
        isSettled &&= isRateLimited(error); // such an answer says that nothing was done
        if (tries === 1)
          this.#context.logger.warn('The stop of a standby node is tried again', { nodeId: node.id, error });
        await delay(this.#context.clock, RETRY_MS, signal);
      }
    }
  }
}
