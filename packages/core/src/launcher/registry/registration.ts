import {
  componentCreatePath,
  componentsPath,
  encodeComponent,
  encodeLegacyLauncher,
  LEGACY_LAUNCHERS_ROOT,
  legacyLauncherPath,
  isPoolComponent,
  isZooKeeperError,
  lastPart,
  withComponent,
  type ComponentRecord,
  type LauncherId,
  type Stat,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { conditionToJson } from '../../conditions/condition-json.js';
import type { Condition } from '../../contract/condition.js';
import type { Logger } from '../../contract/logger.js';

/** Host name up to the first dot. */
export function shortName(hostname: string): string {
  return hostname.split('.', 1)[0] ?? hostname;
}

/**
 * A component's entry in the registry. Changes are written one after another, skipping bodies that are already outdated, and
 * the entry is created again in a new session.
 */
export class Registration<T extends ComponentRecord> {
  readonly #zk: ZooKeeper;
  readonly #logger: Logger;
  readonly #oldId: LauncherId | undefined;
  #body: T;
  #path: string | undefined;
  #epoch = -1;
  #written: T | undefined;
  /** Body of an entry whose creation was not acknowledged. {@link body} may have changed since. */
  #unconfirmed: Buffer | undefined;
  #version = 0;
  #writing: Promise<void> | undefined;
  #removed = false;

  /** @param oldId - id of a pool that is registered where launchers older than the component registry look */
  constructor(zk: ZooKeeper, body: T, logger: Logger, oldId?: LauncherId) {
    this.#oldId = oldId;
    this.#zk = zk;
    this.#body = body;
    this.#logger = logger;
  }

  /** Last part of the entry's path; `undefined` while not registered. */
  get id(): string | undefined {
    return this.#path === undefined ? undefined : lastPart(this.#path);
  }

  get body(): T {
    return this.#body;
  }

  /** Registers, or registers again in a new session. */
  async register(): Promise<void> {
    await this.#flush();
  }

  /** Publishes a changed body; returns at once. */
  update(body: T): void {
    this.#body = body;
    void this.#flush();
  }

  /** Publishes the component's conditions. */
  setConditions(conditions: readonly Condition[]): void {
    this.update(withComponent<ComponentRecord>(this.#body, { conditions: conditions.map(conditionToJson) }) as T);
  }

  /** Removes the entry; resolves when it is gone or the session has ended. */
  async remove(): Promise<void> {
    this.#removed = true;
    await this.#writing;
    while (!(await this.#tryToRemove())) {
      // the connection was lost; the session and its entry may still exist
    }
  }

  /** @returns false to try again */
  async #tryToRemove(): Promise<boolean> {
    try {
      await this.#zk.whenConnected();
      if (this.#unconfirmed !== undefined) await this.#recover();
      const path = this.#path;
      if (path !== undefined && this.#epoch === this.#zk.sessionEpoch) await this.#zk.delete(path);
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      this.#logger.debug('Could not remove component entry', { path: this.#path, error });
      if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) return false;
    }
    this.#path = undefined;
    return true;
  }

  #flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #write(): Promise<void> {
    while (!this.#removed && (this.#written !== this.#body || this.#epoch !== this.#zk.sessionEpoch)) {
      const body = this.#body;
      try {
        if (this.#path === undefined || this.#epoch !== this.#zk.sessionEpoch) await this.#create(body);
        else this.#version = (await this.#zk.setData(this.#path, this.#encode(body), this.#version)).version;
        this.#written = body;
      } catch (error) {
        if (!isZooKeeperError(error)) throw error;
        this.#logger.warn('Could not publish component', { kind: body.kind, error });
        if (!(await this.#recovered(error))) return;
      }
    }
  }

  async #create(body: T): Promise<void> {
    const sequential = this.#oldId === undefined;
    await this.#zk.ensurePath(this.#directory(body));
    const path = this.#oldId ? legacyLauncherPath(this.#oldId) : componentCreatePath(body.kind, body.hostname);
    this.#unconfirmed = this.#encode(body);
    this.#path = await this.#zk.create(path, this.#unconfirmed, { ephemeral: true, sequential });
    this.#unconfirmed = undefined;
    // Only now: a create requested between two sessions is carried out in the second one.
    this.#epoch = this.#zk.sessionEpoch;
    this.#version = 0;
  }

  #directory({ kind }: T): string {
    return this.#oldId === undefined ? componentsPath(kind) : LEGACY_LAUNCHERS_ROOT;
  }

  #encode(body: T): Buffer {
    return this.#oldId !== undefined && isPoolComponent(body) ? encodeLegacyLauncher(body) : encodeComponent(body);
  }

  /** Recovers, however often the connection is lost meanwhile. @returns false if the client is closed */
  async #recovered(error: unknown): Promise<boolean> {
    for (let cause = error; !isZooKeeperError(cause, 'ZK_CLOSED');) {
      try {
        await this.#recover();
        return true;
      } catch (next) {
        if (!isZooKeeperError(next, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_CLOSED')) throw next;
        cause = next;
      }
    }
    return false;
  }

  /** Reads the stored state after an error. Finds an entry whose creation was not acknowledged by its owner and body. */
  async #recover(): Promise<void> {
    await this.#zk.whenConnected();
    if (this.#path !== undefined && this.#epoch === this.#zk.sessionEpoch) {
      const stat = await this.#zk.exists(this.#path);
      if (stat) this.#version = stat.version;
      else this.#path = undefined;
      return;
    }
    const directory = this.#directory(this.#body);
    const wanted = this.#unconfirmed;
    if (wanted === undefined) return;
    for (const id of await this.#zk.getChildren(directory)) {
      const path = `${directory}/${id}`;
      const found = await this.#read(path);
      if (found?.stat.ephemeralOwner !== this.#zk.sessionId || !found.data.equals(wanted)) continue;
      this.#path = path;
      this.#epoch = this.#zk.sessionEpoch;
      this.#version = found.stat.version;
      this.#unconfirmed = undefined;
      return;
    }
  }

  async #read(path: string): Promise<{ data: Buffer; stat: Stat } | undefined> {
    try {
      return await this.#zk.getData(path);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }
}
