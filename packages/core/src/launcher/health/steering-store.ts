import {
  isZooKeeperError,
  steeringPath,
  steadyNow,
  storeRecord,
  type CancelTimer,
  type Clock,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { agreedMsOf, decodeMemory, encodeMemory } from './steering-memory.js';
import type { SteeringSet } from './steering-set.js';

/** The least time between two writes for one provider. */
const PAUSE_MS = 10_000;
/** What is older says nothing of the cloud of today. */
const FORGET_MS = 24 * 3_600_000;

/**
 * Keeps in ZooKeeper what launches have shown of each provider, so that a launcher that starts knows what the ones before it
 * knew. Of several launchers of a provider, each start reads what the last one wrote.
 */
export class SteeringStore {
  readonly #context: Context;
  readonly #steering: SteeringSet;
  /** The time of the ZooKeeper server. */
  readonly #serverClock: Pick<Clock, 'now'>;
  readonly #timers = new Map<string, CancelTimer>();
  /** Steady time. */
  readonly #writtenMs = new Map<string, number>();
  readonly #ends: readonly (() => void)[];

  constructor(context: Context, steering: SteeringSet, serverClock: Pick<Clock, 'now'>) {
    this.#context = context;
    this.#steering = steering;
    this.#serverClock = serverClock;
    const { events } = context;
    this.#ends = [
      events.on('healthChanged', ({ provider }) => this.#changed(provider)),
      events.on('launchEnded', ({ launch }) => this.#changed(launch.provider)),
    ];
  }

  /** Reads what is known of the configured providers. Without it a launcher begins as if all were well. */
  async start(): Promise<void> {
    const { config, logger } = this.#context;
    for (const provider of config.now.providers.keys()) {
      try {
        await this.#read(provider);
      } catch (error) {
        logger.warn('Could not read what is known of a provider', { provider, path: steeringPath(provider), error });
      }
    }
  }

  stop(): void {
    for (const end of this.#ends) end();
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  async #read(provider: string): Promise<void> {
    const { zk, clock, logger } = this.#context;
    const stored = await zk.getData(steeringPath(provider)).catch((error: unknown) => {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    });
    if (stored === undefined) return;
    const ageMs = Math.max(0, this.#serverClock.now() - (agreedMsOf(stored.data) ?? stored.stat.mtime));
    if (ageMs >= FORGET_MS) return;
    const memory = decodeMemory(stored.data, clock.now() - ageMs);
    this.#steering.of(provider)?.recall(memory);
    logger.info('Continues with what launches have shown of a provider', {
      provider,
      ageMs,
      launchLimit: memory.ramp.limit,
    });
  }

  #changed(provider: string): void {
    if (this.#timers.has(provider)) return;
    const { clock } = this.#context;
    const afterMs = (this.#writtenMs.get(provider) ?? -Infinity) + PAUSE_MS - steadyNow(clock);
    this.#timers.set(
      provider,
      clock.setTimer(Math.max(0, afterMs), () => void this.#write(provider)),
    );
  }

  async #write(provider: string): Promise<void> {
    const { zk, clock, life, logger } = this.#context;
    this.#timers.delete(provider);
    const memory = this.#steering.of(provider)?.memory;
    if (memory === undefined || !life.isActive) return;
    this.#writtenMs.set(provider, steadyNow(clock));
    try {
      await storeRecord(zk, steeringPath(provider), encodeMemory(memory, clock.now(), this.#serverClock.now()));
    } catch (error) {
      logger.debug('Could not store what launches have shown of a provider', { provider, error }); // the next change does
    }
  }
}
