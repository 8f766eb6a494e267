import type { RequestRecord } from '@nodepool/zk-protocol';

/** Prints the states of a waiting request, each line once. */
export class RequestProgress {
  readonly #inform: (line: string) => void;
  readonly #now: () => number;
  readonly #startedMs: number;
  readonly #reasons = new Set<string>();
  #state = 'requested';

  constructor(inform: (line: string) => void, now: () => number) {
    this.#inform = inform;
    this.#now = now;
    this.#startedMs = now();
  }

  /** Takes the current record of the request. */
  update(request: RequestRecord): void {
    for (const [launcher, { text }] of Object.entries(request.declineReasons)) this.#reason(launcher, text);
    for (const launcher of request.declinedBy) {
      if (!(launcher in request.declineReasons)) this.#reason(launcher, 'no reason given');
    }
    if (request.state === this.#state) return;
    this.#state = request.state;
    this.#inform(`${this.#elapsed()} ${this.#describeState(request)}`);
  }

  /** A line with the time since the request was made. */
  say(text: string): void {
    this.#inform(`${this.#elapsed()} ${text}`);
  }

  #describeState(request: RequestRecord): string {
    if (request.state === 'pending') return 'accepted by a launcher';
    if (request.state === 'requested') return 'waiting for another launcher';
    if (request.state === 'fulfilled') return `fulfilled: ${request.nodeIds.join(', ')}`;
    return `state ${request.state}`;
  }

  #reason(launcher: string, text: string): void {
    const pool = /-PoolWorker\.(.*)-[0-9a-f]{32}$/.exec(launcher)?.[1] ?? launcher;
    const line = `declined by ${pool}: ${text}`;
    if (this.#reasons.has(line)) return;
    this.#reasons.add(line);
    this.say(line);
  }

  #elapsed(): string {
    return `[${((this.#now() - this.#startedMs) / 1000).toFixed(2).padStart(7)} s]`;
  }
}
