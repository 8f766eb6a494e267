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

/** What a number of standby nodes would have given. */
export interface StandbyResult {
  /** Of each request in order of time. */
  readonly waitsMs: readonly number[];
  /** Node-hours in which standby nodes were ready and not needed. */
  readonly idleHours: number;
  readonly launches: number;
}

const HOUR_MS = 3_600_000;
const STEP_MS = 60_000;

/**
 * Plays the standby nodes of a label. A request takes free nodes and launches the missing ones for itself; a standby node that was
 * taken is replaced at once; surplus free nodes are deleted. Begins with the nodes to keep.
 * @param levelAt - the number of standby nodes to keep, asked once a minute
 */
export function playStandby(scene: StandbyScene, levelAt: (atMs: number) => number): StandbyResult {
  return new StandbyPlay(scene).run(levelAt);
}

class StandbyPlay {
  readonly #scene: StandbyScene;
  readonly #waitsMs: number[] = [];
  /** When the standby nodes that are being launched will be ready, in order. */
  readonly #readyMs: number[] = [];
  #free = 0;
  #level = 0;
  #atMs: number;
  #idleMs = 0;
  #launches = 0;

  constructor(scene: StandbyScene) {
    this.#scene = scene;
    this.#atMs = scene.sinceMs;
  }

  run(levelAt: (atMs: number) => number): StandbyResult {
    const { arrivals, sinceMs, untilMs } = this.#scene;
    this.#free = levelAt(sinceMs);
    let at = 0;
    for (let stepMs = sinceMs; stepMs < untilMs; stepMs += STEP_MS) {
      this.#pass(stepMs);
      this.#level = levelAt(stepMs);
      this.#adjust();
      const endMs = Math.min(untilMs, stepMs + STEP_MS);
      for (let next = arrivals[at]; next && next.atMs < endMs; next = arrivals[++at]) this.#serve(next);
    }
    this.#pass(untilMs);
    return { waitsMs: this.#waitsMs, idleHours: this.#idleMs / HOUR_MS, launches: this.#launches };
  }

  #serve({ atMs, nodes }: Arrival): void {
    this.#pass(atMs);
    const taken = Math.min(nodes, this.#free);
    this.#free -= taken;
    this.#waitsMs.push(taken === nodes ? 0 : this.#launch(nodes - taken));
    this.#adjust();
  }

  #launch(nodes: number): number {
    this.#launches += nodes;
    return this.#scene.bootMs(this.#atMs);
  }

  #adjust(): void {
    while (this.#free + this.#readyMs.length < this.#level) {
      const readyMs = this.#atMs + this.#launch(1);
      const at = this.#readyMs.findIndex((each) => each > readyMs);
      this.#readyMs.splice(at < 0 ? this.#readyMs.length : at, 0, readyMs);
    }
    this.#free = Math.max(0, Math.min(this.#free, this.#level - this.#readyMs.length));
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
