import { ZooKeeperError } from './contract/errors.js';
import type { WatchEvent, WatchListener } from './contract/types.js';
import type { WatchPaths } from './wire/encode.js';
import type { OneShotKind } from './wire/request.js';

/** With `persistent-recursive`, everything below is reported too, and no `children` events are. */
export type PersistentMode = 'persistent' | 'persistent-recursive';

const SLASH = 47;
/** Room for the paths of one setWatches packet, far below the server's limit of 1 MB. */
const SET_WATCHES_BYTES = 96 * 1024;

interface PersistentWatch {
  readonly mode: PersistentMode;
  readonly listeners: Set<WatchListener>;
}

/**
 * Who listens to what. Paths are without chroot. Listeners of one path are told in the order they were added, one-shot
 * ones before persistent ones.
 */
export class WatchRegistry {
  readonly #oneShot: Record<OneShotKind, Map<string, Set<WatchListener>>> = {
    exists: new Map(),
    data: new Map(),
    children: new Map(),
  };
  readonly #persistent = new Map<string, PersistentWatch>();
  /** Paths with a recursive watch, longest first; replaced on change, never modified. */
  #recursiveRoots: readonly string[] = [];

  /** Notes a one-shot watch the server has just confirmed. */
  addOneShot(kind: OneShotKind, path: string, listener: WatchListener): void {
    const listeners = this.#oneShot[kind].get(path);
    if (listeners === undefined) this.#oneShot[kind].set(path, new Set([listener]));
    else listeners.add(listener);
  }

  /** Forgets every one-shot watch: they end with the session. */
  dropOneShots(): void {
    for (const listeners of Object.values(this.#oneShot)) listeners.clear();
  }

  /**
   * A server up to 3.8.0 keeps one mode per connection and path: a one-shot watch beside a persistent one destroys it.
   * @throws ZK_BAD_ARGUMENTS when the path has a persistent watch
   */
  assertNoPersistent(path: string): void {
    const watch = this.#persistent.get(path);
    if (watch === undefined) return;
    throw new ZooKeeperError(
      'ZK_BAD_ARGUMENTS',
      `one-shot watch on ${path}: this connection has a ${watch.mode} watch on it, which the server would drop; listen to that one`,
      { path },
    );
  }

  /** @throws ZK_BAD_ARGUMENTS when the path has one-shot watches or a persistent watch of the other mode */
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
      `${mode} watch on ${path}: this connection has ${taken} on it already`,
      {
        path,
      },
    );
  }

  /** @returns true when this is the path's first listener, so the server has to be told */
  addPersistent(path: string, mode: PersistentMode, listener: WatchListener): boolean {
    const watch = this.#persistent.get(path);
    if (watch !== undefined) {
      watch.listeners.add(listener);
      return false;
    }
    this.#persistent.set(path, { mode, listeners: new Set([listener]) });
    if (mode === 'persistent-recursive') {
      this.#recursiveRoots = [...this.#recursiveRoots, path].sort((a, b) => b.length - a.length);
    }
    return true;
  }

  /** @returns true when it was the path's last listener, so the server has to be told */
  removePersistent(path: string, listener: WatchListener): boolean {
    const watch = this.#persistent.get(path);
    if (watch === undefined || !watch.listeners.delete(listener) || watch.listeners.size > 0) return false;
    this.#persistent.delete(path);
    this.#recursiveRoots = this.#recursiveRoots.filter((root) => root !== path);
    return true;
  }

  /** Hands the event to everyone concerned, through `call`, which must not throw. One-shot watches it fires are gone. */
  dispatch(event: WatchEvent, call: (listener: WatchListener, event: WatchEvent) => void): void {
    const { type, path } = event;
    if (type !== 'children') {
      this.#fire('data', event, call);
      this.#fire('exists', event, call);
    }
    if (type === 'children' || type === 'deleted') this.#fire('children', event, call);
    const own = this.#persistent.get(path);
    if (own !== undefined && !(type === 'children' && own.mode === 'persistent-recursive')) {
      for (const listener of own.listeners) call(listener, event);
    }
    if (type !== 'children') this.#dispatchToAncestors(event, call);
  }

  /** Everything to set again on a new connection, in packets of bounded size; `toServer` adds the chroot. */
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

  #fire(kind: OneShotKind, event: WatchEvent, call: (listener: WatchListener, event: WatchEvent) => void): void {
    const watches = this.#oneShot[kind];
    if (watches.size === 0) return;
    const listeners = watches.get(event.path);
    if (listeners === undefined) return;
    watches.delete(event.path);
    for (const listener of listeners) call(listener, event);
  }

  #dispatchToAncestors(event: WatchEvent, call: (listener: WatchListener, event: WatchEvent) => void): void {
    for (const root of this.#recursiveRoots) {
      if (!isBelow(event.path, root)) continue;
      const watch = this.#persistent.get(root);
      if (watch?.mode === 'persistent-recursive') for (const listener of watch.listeners) call(listener, event);
    }
  }
}

/** The separator is looked at first: of most other roots it tells them apart, at the price of one comparison. */
function isBelow(path: string, root: string): boolean {
  return root === '/' ? path !== '/' : path.charCodeAt(root.length) === SLASH && path.startsWith(root);
}

function emptyPaths(): WatchPaths {
  return { data: [], exists: [], children: [], persistent: [], recursive: [] };
}
