import type { NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import { LauncherEvents } from '@nodepool/core/launcher';

/** Records that change when the test says so. */
class Changes<Item> {
  readonly #listeners = new Set<(change: RecordChange<Item>) => void>();

  onChange(listener: (change: RecordChange<Item>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(change: RecordChange<Item>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** A launcher as its history sees it. */
export class FollowedLauncher {
  readonly events = new LauncherEvents();
  readonly nodes = new Changes<NodeRecord>();
  readonly requests = new Changes<RequestRecord>();
}
