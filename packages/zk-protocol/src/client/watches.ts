import { ZooKeeperError } from './contract/errors.js';
import type { WatchEvent, WatchListener } from './contract/types.js';
import type { WatchPaths } from './wire/encode.js';
import type { OneShotKind } from './wire/request.js';

/** `persistent-recursive` also reports descendants, but no `children` events. */
export type PersistentMode = 'persistent' | 'persistent-recursive';

/** Size of one setWatches packet, far below the server's limit of 1 MB. */
const SET_WATCHES_BYTES = 96 * 1024;

interface PersistentWatch {
  readonly mode: PersistentMode;
  readonly listeners: Set<WatchListener>;
}

interface RecursiveWatch {
  /** Start of all paths below the watched one. */
  readonly prefix: string;
  readonly listeners: ReadonlySet<WatchListener>;
}

/**
 * The watches of a client, with paths without chroot. Listeners of a path are called in the order in which they were added,
 * one-shot before persistent ones.
 */
export class WatchRegistry {
  readonly #oneShot: Record<OneShotKind, Map<string, Set<WatchListener>>> = {
    exists: new Map(),
    data: new Map(),
    children: new Map(),
  };
  readonly #persistent = new Map<string, PersistentWatch>();
  /** The recursive watches, those of the longest paths first; replaced on change, never modified. */
  #recursive: readonly RecursiveWatch[] = [];

  /** Adds a one-shot watch that the server has confirmed. */
  addOneShot(kind: OneShotKind, path: string, listener: WatchListener): void {
    const listeners = this.#oneShot[kind].get(path);
    if (listeners === undefined) this.#oneShot[kind].set(path, new Set([listener]));
    else listeners.add(listener);
  }

  /** Drops all one-shot watches, which end with the session. */
  dropOneShots(): void {
    for (const listeners of Object.values(this.#oneShot)) listeners.clear();
  }

  /**
   * Servers up to 3.8.0 keep one mode per connection and path: a one-shot watch replaces a persistent one.
   * @throws ZK_BAD_ARGUMENTS if the path has a persistent watch
   */
  assertNoPersistent(path: string): void {
    const watch = this.#persistent.get(path);
    if (watch === undefined) return;
    throw new ZooKeeperError(
      'ZK_BAD_ARGUMENTS',
      `one-shot watch on ${path}: the server would drop this connection's ${watch.mode} watch on it; use that watch`,
      { path },
    );
  }

  /** @throws ZK_BAD_ARGUMENTS if the path has a one-shot watch or a persistent watch of the other mode */
  assertPersistentAllowed(path: string, mode: PersistentMode): void {
    const other = this.#persistent.get(path);
    const taken =
      other !== undefined && other.mode !== mode
        ? `a ${other.mode} watch`
        : Object.values(this.#oneShot).some((watches) => watches.has(path))
          ? 'a one-shot watch'
          : undefined;
    if (taken === undefined) return;
    throw new ZooKeeperError(
      'ZK_BAD_ARGUMENTS',
      `${mode} watch on ${path}: this connection already has ${taken} on it`,
      {
        path,
      },
    );
  }

  /** @returns true if this is the path's first listener, so that the server needs a request */
  addPersistent(path: string, mode: PersistentMode, listener: WatchListener): boolean {
    const watch = this.#persistent.get(path);
    if (watch !== undefined) {
      watch.listeners.add(listener);
      return false;
    }
    const listeners = new Set([listener]);
    this.#persistent.set(path, { mode, listeners });
    if (mode === 'persistent-recursive') {
      const prefix = path === '/' ? '/' : `${path}/`;
      this.#recursive = [...this.#recursive, { prefix, listeners }].sort((a, b) => b.prefix.length - a.prefix.length);
    }
    return true;
  }

  /** @returns true if this was the path's last listener, so that the server needs a request */
  removePersistent(path: string, listener: WatchListener): boolean {
    const watch = this.#persistent.get(path);
    if (watch === undefined || !watch.listeners.delete(listener) || watch.listeners.size > 0) return false;
    this.#persistent.delete(path);
    this.#recursive = this.#recursive.filter(({ listeners }) => listeners !== watch.listeners);
    return true;
  }

  /** Passes the event to all its listeners through `call`, which must not throw. Removes one-shot watches. */
  dispatch(event: WatchEvent, call: (listener: WatchListener, event: WatchEvent) => void): void {
    const { type, path } = event;
    const { data, exists, children } = this.#oneShot;
    if (type !== 'children') {
      if (data.size > 0) fire(data, event, call);
      if (exists.size > 0) fire(exists, event, call);
    }
    if (children.size > 0 && (type === 'children' || type === 'deleted')) fire(children, event, call);
    const own = this.#persistent.get(path);
    if (own !== undefined && !(type === 'children' && own.mode === 'persistent-recursive')) {
      for (const listener of own.listeners) call(listener, event);
    }
    if (type === 'children') return;
    for (const { prefix, listeners } of this.#recursive) {
      if (path.length <= prefix.length || !path.startsWith(prefix)) continue;
      for (const listener of listeners) call(listener, event);
    }
  }

  /** All watches, to set them on a new connection, in packets of limited size; `toServer` adds the chroot. */
  *packets(toServer: (path: string) => string): Generator<WatchPaths> {
    let packet = emptyPaths();
    let bytes = 0;
    for (const [kind, path] of this.#all()) {
      const serverPath = toServer(path);
      packet[kind].push(serverPath);
      bytes += 4 + Buffer.byteLength(serverPath);
      if (bytes < SET_WATCHES_BYTES) continue;
      yield packet;
      packet = emptyPaths();
      bytes = 0;
    }
    if (bytes > 0) yield packet;
  }

  *#all(): Generator<[keyof WatchPaths, string]> {
    for (const path of this.#oneShot.data.keys()) yield ['data', path];
    for (const path of this.#oneShot.exists.keys()) yield ['exists', path];
    for (const path of this.#oneShot.children.keys()) yield ['children', path];
    for (const [path, watch] of this.#persistent)
      yield [watch.mode === 'persistent' ? 'persistent' : 'recursive', path];
  }
}

/** Calls and removes the one-shot watches of a path. */
function fire(
  watches: Map<string, Set<WatchListener>>,
  event: WatchEvent,
  call: (listener: WatchListener, event: WatchEvent) => void,
): void {
  const listeners = watches.get(event.path);
  if (listeners === undefined) return;
  watches.delete(event.path);
  for (const listener of listeners) call(listener, event);
}

function emptyPaths(): WatchPaths {
  return { data: [], exists: [], children: [], persistent: [], recursive: [] };
}
