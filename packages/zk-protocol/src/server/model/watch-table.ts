import { EventType, type EventTypeNumber } from './constants.js';
import type { ModelConnection } from './connection.js';

/** Lifetime and scope of a watch. */
export type WatchMode = 'one-shot' | 'persistent' | 'persistent-recursive';

/**
 * Watches of one kind (data or children). A connection has at most one watch per path, and a later one replaces its mode: a
 * one-shot watch ends a persistent one on the same path. So does ZooKeeper 3.8, and clients rely on it.
 */
export class WatchTable {
  private readonly byPath = new Map<string, Map<ModelConnection, WatchMode>>();
  private readonly byConnection = new Map<ModelConnection, Set<string>>();
  private recursiveCount = 0;

  /** Number of watches. */
  get size(): number {
    let total = 0;
    for (const paths of this.byConnection.values()) total += paths.size;
    return total;
  }

  /** Number of watched paths. */
  get pathCount(): number {
    return this.byPath.size;
  }

  /** Watched paths by connection. */
  entries(): IterableIterator<[ModelConnection, ReadonlySet<string>]> {
    return this.byConnection.entries();
  }

  add(path: string, connection: ModelConnection, mode: WatchMode): void {
    let watchers = this.byPath.get(path);
    if (watchers === undefined) {
      watchers = new Map<ModelConnection, WatchMode>();
      this.byPath.set(path, watchers);
    }
    if (watchers.get(connection) === 'persistent-recursive') this.recursiveCount--;
    if (mode === 'persistent-recursive') this.recursiveCount++;
    watchers.set(connection, mode);
    let paths = this.byConnection.get(connection);
    if (paths === undefined) this.byConnection.set(connection, (paths = new Set()));
    paths.add(path);
  }

  /** @returns false if the connection has no watch on this path */
  remove(path: string, connection: ModelConnection): boolean {
    const paths = this.byConnection.get(connection);
    if (paths?.delete(path) !== true) return false;
    if (paths.size === 0) this.byConnection.delete(connection);
    this.unlink(path, connection);
    return true;
  }

  removeAll(connection: ModelConnection): void {
    const paths = this.byConnection.get(connection);
    if (paths === undefined) return;
    this.byConnection.delete(connection);
    for (const path of paths) this.unlink(path, connection);
  }

  /** Whether any connection watches this path; ZooKeeper 3.8 checks no more for a checkWatches. */
  isWatched(path: string): boolean {
    return this.byPath.has(path);
  }

  /** Connections to notify of a change; removes their one-shot watches. `undefined` if there are none. */
  trigger(path: string, type: EventTypeNumber): Set<ModelConnection> | undefined {
    if (this.byPath.size === 0) return undefined;
    const found = new Set<ModelConnection>();
    this.collect(path, type, true, found);
    if (this.recursiveCount > 0 && type !== EventType.children) {
      for (let at = path; at !== '/';) {
        at = at.slice(0, Math.max(at.lastIndexOf('/'), 1));
        this.collect(at, type, false, found);
      }
    }
    return found.size === 0 ? undefined : found;
  }

  private collect(path: string, type: EventTypeNumber, isExact: boolean, found: Set<ModelConnection>): void {
    const watchers = this.byPath.get(path);
    if (watchers === undefined) return;
    for (const [connection, mode] of watchers) {
      if (mode === 'persistent-recursive') {
        if (type !== EventType.children) found.add(connection);
      } else if (isExact) {
        found.add(connection);
        if (mode === 'one-shot') this.remove(path, connection);
      }
    }
  }

  private unlink(path: string, connection: ModelConnection): void {
    const watchers = this.byPath.get(path);
    if (watchers === undefined) return;
    if (watchers.get(connection) === 'persistent-recursive') this.recursiveCount--;
    watchers.delete(connection);
    if (watchers.size === 0) this.byPath.delete(path);
  }
}
