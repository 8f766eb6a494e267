/** Counts pending calls over sockets, so that a `VirtualClock` can wait for their answers. */
export class CallTracker {
  #pending = 0;
  #waiting: (() => void)[] = [];

  /** Counts the call as pending until it settles, and returns its result. */
  async track<T>(call: Promise<T>): Promise<T> {
    this.#pending++;
    try {
      return await call;
    } finally {
      this.#pending--;
      if (this.#pending === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  /** Waits until no call is pending. @returns whether any call was pending */
  async idle(): Promise<boolean> {
    const isBusy = this.#pending > 0;
    if (isBusy) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return isBusy;
  }
}
