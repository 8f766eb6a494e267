import type { Acl } from '../../client/contract/types.js';
import { EventType, type EventTypeNumber } from './constants.js';
import { isAllowed, Permission } from './acl.js';
import type { ModelConnection } from './connection.js';
import type { DataTree, Touched, TreeChange } from './data-tree.js';
import { parentOf } from './paths.js';
import type { Notification } from './replies.js';
import type { SetWatchesRequest, WatcherType } from './requests.js';
import type { Sliced } from './sliced.js';
import { WatchTable } from './watch-table.js';
import type { Znode } from './znode.js';

/** All watches. */
export class Watches {
  readonly data = new WatchTable();
  readonly child = new WatchTable();

  addPersistent(path: string, connection: ModelConnection, mode: 'persistent' | 'persistent-recursive'): void {
    this.data.add(path, connection, mode);
    this.child.add(path, connection, mode);
  }

  /** @returns false if there was none of that type on this path */
  remove(path: string, connection: ModelConnection, type: WatcherType): boolean {
    const child = type !== 'data' && this.child.remove(path, connection);
    const data = type !== 'children' && this.data.remove(path, connection);
    return child || data;
  }

  isWatched(path: string, type: WatcherType): boolean {
    return (type !== 'data' && this.child.isWatched(path)) || (type !== 'children' && this.data.isWatched(path));
  }

  removeAll(connection: ModelConnection): void {
    this.data.removeAll(connection);
    this.child.removeAll(connection);
  }

  /** Appends the events of an applied change. Clients that may not read the znode get no event, but lose their one-shot watch. */
  trigger({ change, path }: TreeChange, { node, parent }: Touched, events: Notification[]): void {
    switch (change) {
      case 'create':
        this.notify(this.data, { type: EventType.created, path }, node.acl, events);
        this.notifyParent(path, parent, events);
        return;
      case 'delete': {
        const event = { type: EventType.deleted, path };
        const notified = this.notify(this.data, event, node.acl, events);
        this.notify(this.child, event, node.acl, events, notified);
        this.notifyParent(path, parent, events);
        return;
      }
      case 'setData':
        this.notify(this.data, { type: EventType.changed, path }, node.acl, events);
        return;
      case 'setAcl':
    }
  }

  /** Sets watches after a reconnect; appends events for changes in between instead. */
  *setAgain(tree: DataTree, request: SetWatchesRequest, to: ModelConnection, events: Notification[]): Sliced<void> {
    const since = request.relativeZxid;
    for (const path of request.data) {
      const node = tree.get(path);
      if (node === undefined) events.push({ to, type: EventType.deleted, path });
      else if (node.mzxid > since) events.push({ to, type: EventType.changed, path });
      else this.data.add(path, to, 'one-shot');
      yield;
    }
    for (const path of request.exist) {
      if (tree.get(path) !== undefined) events.push({ to, type: EventType.created, path });
      else this.data.add(path, to, 'one-shot');
      yield;
    }
    for (const path of request.child) {
      const node = tree.get(path);
      if (node === undefined) events.push({ to, type: EventType.deleted, path });
      else if (node.pzxid > since) events.push({ to, type: EventType.children, path });
      else this.child.add(path, to, 'one-shot');
      yield;
    }
    for (const [paths, mode] of [
      [request.persistent, 'persistent'],
      [request.persistentRecursive, 'persistent-recursive'],
    ] as const) {
      for (const path of paths) {
        this.addPersistent(path, to, mode);
        yield;
      }
    }
  }

  private notifyParent(path: string, parent: Znode, events: Notification[]): void {
    this.notify(this.child, { type: EventType.children, path: parentOf(path) || '/' }, parent.acl, events);
  }

  private notify(
    table: WatchTable,
    { type, path }: { type: EventTypeNumber; path: string },
    acl: readonly Acl[],
    events: Notification[],
    except?: ReadonlySet<ModelConnection>,
  ): ReadonlySet<ModelConnection> | undefined {
    const found = table.trigger(path, type);
    if (found === undefined) return undefined;
    for (const to of found) {
      if (except?.has(to) !== true && isAllowed(acl, Permission.read, to.auth)) events.push({ to, type, path });
    }
    return found;
  }
}
