import type { PendingRequest } from './wire/request.js';

/** A queue as a ring buffer: no operation moves elements. */
export class RequestQueue {
  #slots: (PendingRequest | undefined)[] = new Array<PendingRequest | undefined>(64).fill(undefined);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(request: PendingRequest): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = request;
    this.#length += 1;
  }

  peek(): PendingRequest | undefined {
    return this.#length === 0 ? undefined : this.#slots[this.#head];
  }

  shift(): PendingRequest | undefined {
    if (this.#length === 0) return undefined;
    const request = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#slots.length - 1);
    this.#length -= 1;
    return request;
  }

  /** Empties the queue. @returns its requests in order */
  drain(): PendingRequest[] {
    const all: PendingRequest[] = [];
    for (let request = this.shift(); request !== undefined; request = this.shift()) all.push(request);
    return all;
  }

  /** Doubles the slots; their number is a power of two, so that positions wrap with a mask. */
  #grow(): void {
    const size = this.#slots.length;
    const next = new Array<PendingRequest | undefined>(size * 2).fill(undefined);
    for (let i = 0; i < this.#length; i += 1) next[i] = this.#slots[(this.#head + i) & (size - 1)];
    this.#slots = next;
    this.#head = 0;
  }
}
