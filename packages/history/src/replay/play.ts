import type { ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { silentLogger, type Config, type Driver } from '@nodepool/core';
import { Launcher } from '@nodepool/core/launcher';
import { Environment, Random, VirtualClock } from '@nodepool/core/testing';
import { Recorder } from '../record/recorder.js';
import { DemandClient } from './demand-client.js';
import type { DemandedRequest } from './demand.js';
import type { RequestResult } from './figures.js';
import type { LaunchRecord } from './launch-record.js';
import { Past } from './past.js';
import { playedDrivers, withoutKeyScans } from './played-drivers.js';

/** For nodes that stand by, before the first request comes. */
const WARM_UP_MS = 30 * 60_000;
/** For what still waits when no more requests come. */
const LONGEST_END_MS = 24 * 3_600_000;
const SESSION_TIMEOUT_MS = 10 * 60_000;
const WRITE_MS = 5_000;

/** What is played. */
export interface PlayOptions {
  /** One launcher each. */
  readonly configs: readonly Config[];
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly demand: readonly DemandedRequest[];
  readonly record: LaunchRecord;
  readonly seed: number;
  /** Told of how much of the demand has been asked for, 0 to 1. */
  readonly progress?: ((share: number) => void) | undefined;
}

/** How it went. */
export interface PlayResult {
  readonly results: readonly RequestResult[];
  /** The history that the launchers have kept. */
  readonly past: Past;
  /** Providers that did not start, and why. */
  readonly providerErrors: readonly { readonly provider: string; readonly error: string }[];
}

/**
 * Runs launchers with these configurations on a virtual clock, with ZooKeeper in this process, against recorded demand. Until it
 * resolves, `Math.random`, uuids and `setImmediate` of the process come from the seed: nothing else may run meanwhile.
 */
export async function play(options: PlayOptions): Promise<PlayResult> {
  const { demand, seed, progress } = options;
  const firstMs = demand[0]?.createdMs ?? 0;
  const clock = new VirtualClock(firstMs - WARM_UP_MS);
  const random = new Random(seed);
  const environment = new Environment(random.fork(), false);
  try {
    const scene = new Scene(options, clock, random);
    const run = async (untilMs: number, until = () => false) => {
      await environment.settle();
      while (!until() && clock.step(untilMs)) await environment.settle();
    };
    scene.start();
    await run(firstMs - 1);
    scene.checkStarted();
    for (const [index, request] of demand.entries()) {
      await run(request.createdMs);
      scene.ask(request);
      if (index % 100 === 0) progress?.(index / demand.length);
    }
    const client = scene.client();
    await run(clock.now() + LONGEST_END_MS, () => client.isIdle);
    client.giveUp();
    return scene.end();
  } finally {
    environment.restore();
  }
}

/** Launchers, the client and the server of one run. */
class Scene {
  readonly #server: MemoryServer;
  readonly #launchers: readonly Launcher[];
  readonly #past = new Past();
  readonly #recorders: Recorder[] = [];
  readonly #clock: VirtualClock;
  readonly #random: Random;
  #client: DemandClient | undefined;
  #failure: unknown;

  constructor({ configs, drivers, record }: PlayOptions, clock: VirtualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#server = new MemoryServer(clock, undefined, { maxSessionTimeoutMs: SESSION_TIMEOUT_MS });
    const registry = playedDrivers(drivers, record);
    this.#launchers = configs.map(withoutKeyScans).map((config, index) => {
      const recorder = this.#makeRecorder();
      const launcher = new Launcher({
        ...{ zk: this.#connect(), clock, config, registry, logger: silentLogger, version: '0' },
        hostname: `launcher-${index + 1}.example.com`,
        random: random.fork().next,
      });
      recorder.follow(launcher);
      return launcher;
    });
  }

  start(): void {
    const failed = (error: unknown) => (this.#failure ??= error);
    for (const launcher of this.#launchers) launcher.start().catch(failed);
    const [first] = this.#launchers;
    if (first) this.#client = new DemandClient({ zk: this.#connect(), clock: this.#clock, requests: first.requests });
  }

  checkStarted(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  client(): DemandClient {
    if (!this.#client) throw new Error('there is no configuration to play');
    return this.#client;
  }

  ask(request: DemandedRequest): void {
    const failed = (error: unknown) => (this.#failure ??= error);
    this.client().ask(request).catch(failed);
  }

  end(): PlayResult {
    this.checkStarted();
    for (const recorder of this.#recorders) this.#keep(recorder);
    const providerErrors = this.#launchers.flatMap((launcher) => launcher.providerErrors);
    return { results: this.client().results, past: this.#past, providerErrors };
  }

  #connect(): ZooKeeper {
    const random = this.#random.fork().next;
    return connectInMemory(this.#server, { clock: this.#clock, sessionTimeoutMs: SESSION_TIMEOUT_MS, random }).zk;
  }

  #makeRecorder(): Recorder {
    const recorder: Recorder = new Recorder({
      clock: this.#clock,
      dirty: () => void this.#clock.setTimer(WRITE_MS, () => this.#keep(recorder)),
      fulfilled: () => {},
    });
    this.#recorders.push(recorder);
    return recorder;
  }

  #keep(recorder: Recorder): void {
    for (const line of recorder.take()) this.#past.add(line);
  }
}
