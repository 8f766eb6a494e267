import type { CancelTimer, Clock, NodeRecord, RecordChange } from '@nodepool/zk-protocol';

const MINUTE_MS = 60_000;
/** Beyond these times a node deserves an alert, whatever the cloud. */
const LIMITS_MS: Readonly<Record<string, number>> = { building: 15 * MINUTE_MS, deleting: 10 * MINUTE_MS };

/** Options of {@link SlowNodes}. */
export interface SlowNodesOptions {
  readonly clock: Clock;
  /** Whether the pool that made the node is one of this launcher. */
  readonly isOwn: (launcherId: string) => boolean;
  /** Called once each time a node exceeds the limit of a state. */
  readonly tooLong: (provider: string, state: string) => void;
}

interface WatchedNode {
  readonly state: string;
  readonly provider: string;
  readonly sinceMs: number;
  isReported: boolean;
}

/** Detects nodes whose launch or deletion takes too long. Checks once a minute, and only while there are any. */
export class SlowNodes {
  readonly #options: SlowNodesOptions;
  readonly #since = new Map<string, WatchedNode>();
  #cancel: CancelTimer | undefined;

  constructor(options: SlowNodesOptions) {
    this.#options = options;
  }

  nodeChanged({ id, after }: RecordChange<NodeRecord>): void {
    const { clock, isOwn } = this.#options;
    if (!after || LIMITS_MS[after.state] === undefined || !isOwn(after.launcher ?? '')) {
      if (this.#since.size > 0) this.#since.delete(id);
      return;
    }
    const { state, provider, stateTimeMs: sinceMs } = after;
    if (this.#since.get(id)?.state === state) return;
    this.#since.set(id, { state, provider: provider ?? '', sinceMs, isReported: false });
    this.#cancel ??= clock.setTimer(MINUTE_MS, () => this.#check());
  }

  close(): void {
    this.#cancel?.();
    this.#since.clear();
  }

  #check(): void {
    const { clock, tooLong } = this.#options;
    this.#cancel = undefined;
    let isWatching = false;
    for (const node of this.#since.values()) {
      if (node.isReported) continue;
      node.isReported = clock.now() - node.sinceMs >= (LIMITS_MS[node.state] ?? 0);
      if (node.isReported) tooLong(node.provider, node.state);
      else isWatching = true;
    }
    if (isWatching) this.#cancel = clock.setTimer(MINUTE_MS, () => this.#check());
  }
}
