/** Counts calls that are answered over a socket, so that a `VirtualClock` can wait for them. */
export class CallTracker {
  #pending = 0;
  #waiting: (() => void)[] = [];

  /** Passes the call on, and counts it until it has settled. */
  async track<T>(call: Promise<T>): Promise<T> {
    this.#pending++;
    try {
      return await call;
    } finally {
      this.#pending--;
      if (this.#pending === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  /** Waits until no call is running. @returns whether there was one */
  async idle(): Promise<boolean> {
    const isBusy = this.#pending > 0;
    if (isBusy) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return isBusy;
  }
}
