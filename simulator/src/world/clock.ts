import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

interface Timer {
  readonly atMs: number;
  readonly seq: number;
  fire: (() => void) | undefined;
}

/** Time as all of the simulation sees it. Moves from timer to timer; ties fire in the order in which they were set. */
export class WorldClock implements Clock {
  #nowMs: number;
  #seq = 0;
  readonly #heap: Timer[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    const timer: Timer = { atMs: this.#nowMs + Math.max(0, ms), seq: this.#seq++, fire: fn };
    this.#push(timer);
    return () => {
      timer.fire = undefined;
    };
  }

  /** Fires the next timer if it is due by then. @returns false when none was */
  step(untilMs: number): boolean {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      if (next.fire === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fire();
      return true;
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return false;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!before(timer, heap[parent] as Timer)) break;
      heap[at] = heap[parent] as Timer;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Timer, heap[child] as Timer)) child++;
      if (!before(heap[child] as Timer, last)) break;
      heap[at] = heap[child] as Timer;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.seq < b.seq);
}

/** Time as one process sees it. Its timers die with it, and wait while it stalls. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  #stalledUntilMs = 0;
  #isDead = false;
  /** In the order in which they became due. */
  readonly #late: (() => void)[] = [];

  constructor(world: Clock) {
    this.#world = world;
  }

  now(): number {
    return Math.floor(this.#world.now());
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    let action: (() => void) | undefined = fn;
    const act = () => {
      const run = action;
      action = undefined;
      if (!this.#isDead) run?.();
    };
    const cancel = this.#world.setTimer(ms, () => {
      if (this.#world.now() < this.#stalledUntilMs) this.#late.push(act);
      else act();
    });
    return () => {
      action = undefined;
      cancel();
    };
  }

  /** The process does not run for a while: nothing it waits for reaches it. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + ms);
    this.#world.setTimer(this.#stalledUntilMs - this.#world.now(), () => this.#catchUp());
  }

  /** The process is gone. */
  kill(): void {
    this.#isDead = true;
    this.#late.length = 0;
  }

  /** One timer at a time: promise callbacks run between two of them. */
  #catchUp(): void {
    if (this.#world.now() < this.#stalledUntilMs) return;
    const act = this.#late.shift();
    if (act === undefined) return;
    act();
    this.#world.setTimer(0, () => this.#catchUp());
  }
}
