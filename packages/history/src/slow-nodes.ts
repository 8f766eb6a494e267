import type { CancelTimer, Clock, NodeRecord, RecordChange } from '@nodepool/zk-protocol';

const MINUTE_MS = 60_000;
/** Longer than that is worth an alert, whatever the cloud. */
const LIMITS_MS: Readonly<Record<string, number>> = { building: 15 * MINUTE_MS, deleting: 10 * MINUTE_MS };

/** What {@link SlowNodes} are made with. */
export interface SlowNodesOptions {
  readonly clock: Clock;
  /** Whether the pool that made the node is one of this launcher. */
  readonly isOwn: (launcherId: string) => boolean;
  /** A node has been in the state for too long; told once for each time it is in it. */
  readonly tooLong: (provider: string, state: string) => void;
}

interface WatchedNode {
  readonly state: string;
  readonly provider: string;
  readonly sinceMs: number;
  isTold: boolean;
}

/** Notices nodes that are made or deleted for too long. Looks once a minute, and only while there are any. */
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
    this.#since.set(id, { state, provider: provider ?? '', sinceMs, isTold: false });
    this.#cancel ??= clock.setTimer(MINUTE_MS, () => this.#look());
  }

  close(): void {
    this.#cancel?.();
    this.#since.clear();
  }

  #look(): void {
    const { clock, tooLong } = this.#options;
    this.#cancel = undefined;
    let isWatching = false;
    for (const node of this.#since.values()) {
      if (node.isTold) continue;
      node.isTold = clock.now() - node.sinceMs >= (LIMITS_MS[node.state] ?? 0);
      if (node.isTold) tooLong(node.provider, node.state);
      else isWatching = true;
    }
    if (isWatching) this.#cancel = clock.setTimer(MINUTE_MS, () => this.#look());
  }
}
