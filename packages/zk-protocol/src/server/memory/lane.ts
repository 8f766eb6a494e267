import { steadyNow, type CancelTimer, type Clock } from '../../base/clock.js';

interface Packet {
  /** Steady time. */
  readonly atMs: number;
  /** `undefined` marks the end of the stream. */
  readonly bytes: Buffer | undefined;
}

/** One direction of a connection: delivers packets in order, the end of the stream last. */
export class Lane {
  readonly #clock: Clock;
  readonly #arrive: (bytes: Buffer | undefined) => void;
  #packets: Packet[] = [];
  #lastMs = 0;
  #heldUntilMs = 0;
  #isEnded = false;
  #cancel: CancelTimer | undefined;

  /** @param clock - of the receiver: while it stands still, nothing arrives */
  constructor(clock: Clock, arrive: (bytes: Buffer | undefined) => void) {
    this.#clock = clock;
    this.#arrive = arrive;
  }

  /** Bytes in flight. */
  get bytes(): number {
    return this.#packets.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
  }

  /** Sends data, or the end of the stream (`undefined`). Ignored after the end. */
  send(bytes: Buffer | undefined, delayMs: number): void {
    if (this.#isEnded) return;
    this.#isEnded = bytes === undefined;
    this.#lastMs = Math.max(this.#lastMs, steadyNow(this.#clock) + delayMs);
    this.#packets.push({ atMs: this.#lastMs, bytes });
    this.#arm();
  }

  /** Ends the stream after the first `count` bytes in flight. */
  cut(count: number): void {
    let left = count;
    this.#isEnded = false;
    this.#packets = this.#packets.flatMap(({ atMs, bytes }) => {
      const kept = bytes?.subarray(0, left) ?? Buffer.alloc(0);
      left -= kept.length;
      return kept.length > 0 ? [{ atMs, bytes: kept }] : [];
    });
    this.send(undefined, 0);
  }

  /** Drops all data in flight; not even the end of the stream arrives. */
  drop(): void {
    this.#packets = [];
    this.#isEnded = true;
    this.#cancel?.();
  }

  /** Delays all deliveries that are due within this time. */
  hold(ms: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, steadyNow(this.#clock) + ms);
  }

  #arm(): void {
    const [first] = this.#packets;
    if (this.#cancel !== undefined || first === undefined) return;
    const atMs = Math.max(first.atMs, this.#heldUntilMs);
    this.#cancel = this.#clock.setTimer(Math.max(0, atMs - steadyNow(this.#clock)), () => this.#deliver(atMs));
  }

  #deliver(atMs: number): void {
    this.#cancel = undefined;
    const nowMs = Math.max(atMs, steadyNow(this.#clock));
    for (let first = this.#packets[0]; first !== undefined; first = this.#packets[0]) {
      if (Math.max(first.atMs, this.#heldUntilMs) > nowMs) break;
      this.#packets.shift();
      this.#arrive(first.bytes);
    }
    this.#arm();
  }
}
