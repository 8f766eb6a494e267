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

/** Time for launching standby nodes before the first request. */
const WARM_UP_MS = 30 * 60_000;
/** Time for requests that still wait after the last one was submitted. */
const WIND_DOWN_MS = 24 * 3_600_000;
const SESSION_TIMEOUT_MS = 10 * 60_000;
const WRITE_MS = 5_000;

/** Options of {@link play}. */
export interface PlayOptions {
  /** One per launcher. */
  readonly configs: readonly Config[];
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly demand: readonly DemandedRequest[];
  readonly record: LaunchRecord;
  readonly seed: number;
  /** Called with the share of requests that were submitted, 0 to 1. */
  readonly progress?: ((share: number) => void) | undefined;
}

/** Outcome of {@link play}. */
export interface PlayResult {
  readonly results: readonly RequestResult[];
  /** The history of the simulated launchers. */
  readonly past: Past;
  /** Providers that did not start, and why. */
  readonly providerErrors: readonly { readonly provider: string; readonly error: string }[];
}

/**
 * Runs launchers on a virtual clock with an in-memory ZooKeeper, and submits the recorded requests to them. Replaces `Math.random`,
 * UUIDs and `setImmediate` of the process until it resolves, so no other work may run at the same time.
 */
export async function play(options: PlayOptions): Promise<PlayResult> {
  const { demand, seed, progress } = options;
  const firstMs = demand[0]?.createdMs ?? 0;
  const clock = new VirtualClock(firstMs - WARM_UP_MS);
  const random = new Random(seed);
  const environment = new Environment(random.fork(), false);
  try {
    const simulation = new Simulation(options, clock, random);
    const run = async (untilMs: number, until = () => false) => {
      await environment.settle();
      while (!until() && clock.step(untilMs)) await environment.settle();
    };
    simulation.start();
    await run(firstMs - 1);
    simulation.throwFailure();
    for (const [index, request] of demand.entries()) {
      await run(request.createdMs);
      simulation.ask(request);
      if (index % 100 === 0) progress?.(index / demand.length);
    }
    const client = simulation.client();
    await run(clock.now() + WIND_DOWN_MS, () => client.isIdle);
    client.giveUp();
    return simulation.end();
  } finally {
    environment.restore();
  }
}

/** The launchers, the client and the server of one run. */
class Simulation {
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

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  client(): DemandClient {
    if (!this.#client) throw new Error('play() needs at least one configuration');
    return this.#client;
  }

  ask(request: DemandedRequest): void {
    const failed = (error: unknown) => (this.#failure ??= error);
    this.client().ask(request).catch(failed);
  }

  end(): PlayResult {
    this.throwFailure();
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
