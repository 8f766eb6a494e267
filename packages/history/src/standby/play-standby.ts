import type { Arrival } from './demand.js';

/** Demand for a label, and its cloud, during the time to play. */
export interface StandbyScene {
  /** In order of time. */
  readonly arrivals: readonly Arrival[];
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How long a launch takes that begins at a time: the same time gives the same answer. */
  readonly bootMs: (atMs: number) => number;
}

/** Says how many standby nodes to keep. */
export interface StandbyPolicy {
  /** Asked once a minute, and after each request. @param free - nodes that are ready */
  levelAt(atMs: number, free: number): number;
  /** A request has come, and taken what was free. */
  asked?(arrival: Arrival): void;
}

/** What a number of standby nodes would have given. */
export interface StandbyResult {
  /** Of each request in order of time. */
  readonly waitsMs: readonly number[];
  /** Node-hours in which standby nodes were ready and not needed. */
  readonly idleHours: number;
  /** Node-hours of all launches. */
  readonly bootHours: number;
  /** Number of standby nodes that were deleted without use. */
  readonly unused: number;
}

const HOUR_MS = 3_600_000;
const STEP_MS = 60_000;

/**
 * Plays the standby nodes of a label. A request takes free nodes and launches the missing ones for itself; a standby node that was
 * taken is replaced at once; surplus free nodes are deleted. Begins with the nodes to keep.
 */
export function playStandby(scene: StandbyScene, policy: StandbyPolicy): StandbyResult {
  return new StandbyPlay(scene, policy).run();
}

class StandbyPlay {
  readonly #scene: StandbyScene;
  readonly #policy: StandbyPolicy;
  readonly #waitsMs: number[] = [];
  /** When the standby nodes that are being launched will be ready, in order. */
  readonly #readyMs: number[] = [];
  #free = 0;
  #level = 0;
  #atMs: number;
  #idleMs = 0;
  #bootMs = 0;
  #unused = 0;

  constructor(scene: StandbyScene, policy: StandbyPolicy) {
    this.#scene = scene;
    this.#policy = policy;
    this.#atMs = scene.sinceMs;
  }

  run(): StandbyResult {
    const { arrivals, sinceMs, untilMs } = this.#scene;
    this.#free = this.#policy.levelAt(sinceMs, 0);
    let at = 0;
    for (let stepMs = sinceMs; stepMs < untilMs; stepMs += STEP_MS) {
      this.#pass(stepMs);
      this.#keep();
      const endMs = Math.min(untilMs, stepMs + STEP_MS);
      for (let next = arrivals[at]; next && next.atMs < endMs; next = arrivals[++at]) this.#serve(next);
    }
    this.#pass(untilMs);
    const hours = { idleHours: this.#idleMs / HOUR_MS, bootHours: this.#bootMs / HOUR_MS };
    return { waitsMs: this.#waitsMs, ...hours, unused: this.#unused };
  }

  #serve(arrival: Arrival): void {
    this.#pass(arrival.atMs);
    const taken = Math.min(arrival.nodes, this.#free);
    this.#free -= taken;
    this.#waitsMs.push(taken === arrival.nodes ? 0 : this.#launch(arrival.nodes - taken));
    this.#policy.asked?.(arrival);
    this.#keep();
  }

  /** Keeps as many nodes as the policy says now. */
  #keep(): void {
    this.#level = this.#policy.levelAt(this.#atMs, this.#free);
    this.#adjust();
  }

  #launch(nodes: number): number {
    const bootMs = this.#scene.bootMs(this.#atMs);
    this.#bootMs += nodes * bootMs;
    return bootMs;
  }

  #adjust(): void {
    while (this.#free + this.#readyMs.length < this.#level) {
      const readyMs = this.#atMs + this.#launch(1);
      const at = this.#readyMs.findIndex((each) => each > readyMs);
      this.#readyMs.splice(at < 0 ? this.#readyMs.length : at, 0, readyMs);
    }
    const kept = Math.max(0, Math.min(this.#free, this.#level - this.#readyMs.length));
    this.#unused += this.#free - kept;
    this.#free = kept;
  }

  #pass(untilMs: number): void {
    for (let [next] = this.#readyMs; next !== undefined && next <= untilMs; [next] = this.#readyMs) {
      this.#idle(next);
      this.#readyMs.shift();
      this.#free++;
      this.#adjust();
    }
    this.#idle(untilMs);
  }

  #idle(untilMs: number): void {
    this.#idleMs += this.#free * Math.max(0, untilMs - this.#atMs);
    this.#atMs = Math.max(this.#atMs, untilMs);
  }
}
