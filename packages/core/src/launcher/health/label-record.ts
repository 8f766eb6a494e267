/** What is remembered of one label. */
interface Known {
  /** When a launch was last ready. */
  readyMs?: number;
  /** When one last failed because of the cloud. */
  failedMs?: number;
  /** The label has failed since one was ready, and another label has worked meanwhile. */
  failsAlone?: boolean;
}

/** What launches have shown of the labels of one provider: whether one fails alone, and which of them is best for a probe. */
export class LabelRecord {
  readonly #known = new Map<string, Known>();

  /** A launch of the label is ready. */
  succeeded(label: string, nowMs: number): void {
    for (const [other, known] of this.#known)
      if (other !== label && known.failsAlone === false) known.failsAlone = true;
    this.#known.set(label, { readyMs: nowMs });
  }

  /** A launch has failed because of the cloud. @returns whether that counts for the label only, as another one has worked meanwhile */
  failed(label: string, nowMs: number): boolean {
    const known = this.#known.get(label) ?? {};
    this.#known.set(label, { ...known, failedMs: nowMs, failsAlone: known.failsAlone ?? false });
    return known.failsAlone ?? false;
  }

  /** Labels by how much their launch would tell: those that failed last come last, those that worked last come first. */
  readonly compare = (a: string, b: string): number =>
    compareTimes(this.#known.get(a)?.failedMs, this.#known.get(b)?.failedMs) ||
    compareTimes(this.#known.get(b)?.readyMs, this.#known.get(a)?.readyMs);
}

/** Orders times, the earliest first; `undefined` is before all. */
function compareTimes(a = -1, b = -1): number {
  return a - b;
}
