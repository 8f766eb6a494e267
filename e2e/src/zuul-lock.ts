import { randomUUID } from 'node:crypto';
import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';

const CONTENDER = /__lock__-?(\d{10})$/;

/** Digits of a lock entry's name; `undefined` for a name that is no lock entry. */
function sequenceOf(name: string): string | undefined {
  return CONTENDER.exec(name)?.[1];
}

/** Names of those who hold or want a lock, the holder first. */
export async function contenders(zk: ZooKeeper, root: string): Promise<string[]> {
  try {
    const names = (await zk.getChildren(root)).filter((name) => sequenceOf(name) !== undefined);
    return names.sort((a, b) => ((sequenceOf(a) ?? '') < (sequenceOf(b) ?? '') ? -1 : 1));
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}

/** Repeats what is safe to repeat until its answer arrives. */
export async function untilAnswered<T>(zk: ZooKeeper, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw error;
      await zk.whenConnected();
    }
  }
}

/** The exclusive lock as Zuul takes it; written from the recipe, not from the lock under test. */
export class ZuulLock {
  readonly #prefix = `${randomUUID().replaceAll('-', '')}__lock__`;
  #entry: string | undefined;

  constructor(
    private readonly zk: ZooKeeper,
    private readonly root: string,
  ) {}

  /** @returns false when another process holds the lock, which then is not waited for */
  async tryAcquire(): Promise<boolean> {
    return this.#acquire(0);
  }

  /** @throws {Error} the lock was not free in time */
  async acquire(timeoutMs: number): Promise<void> {
    if (!(await this.#acquire(timeoutMs))) throw new Error(`timeout waiting for the lock ${this.root}`);
  }

  /** Gives the lock back. Safe to repeat. */
  async release(): Promise<void> {
    const entry = this.#entry;
    if (entry === undefined) return;
    this.#entry = undefined;
    await this.#deleteEntry(entry);
  }

  async #deleteEntry(entry: string): Promise<void> {
    try {
      await untilAnswered(this.zk, () => this.zk.delete(entry));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }

  async #createEntry(): Promise<string> {
    return untilAnswered(this.zk, async () => {
      const mine = (await contenders(this.zk, this.root)).find((name) => name.startsWith(this.#prefix));
      if (mine !== undefined) return `${this.root}/${mine}`;
      await this.zk.ensurePath(this.root);
      return this.zk.create(`${this.root}/${this.#prefix}`, '', { ephemeral: true, sequential: true });
    });
  }

  async #acquire(timeoutMs: number): Promise<boolean> {
    const entry = await this.#createEntry();
    const deadline = Date.now() + timeoutMs;
    try {
      while (!(await this.#isFirst(entry, deadline))) {
        if (Date.now() < deadline) continue;
        await this.#deleteEntry(entry);
        return false;
      }
    } catch (error) {
      await this.#deleteEntry(entry);
      throw error;
    }
    this.#entry = entry;
    return true;
  }

  /** Checks once; if another contender is ahead, waits until that changes or the deadline passes. */
  async #isFirst(entry: string, deadline: number): Promise<boolean> {
    const names = await untilAnswered(this.zk, () => contenders(this.zk, this.root));
    const position = names.indexOf(entry.slice(this.root.length + 1));
    if (position < 0) throw new Error(`the lock entry ${entry} vanished`);
    if (position === 0) return true;
    const remainingMs = deadline - Date.now();
    if (remainingMs > 0) await this.#whenChanged(`${this.root}/${names[position - 1]}`, remainingMs);
    return false;
  }

  async #whenChanged(path: string, timeoutMs: number): Promise<void> {
    let wake = (): void => undefined;
    const changed = new Promise<void>((resolve) => (wake = resolve));
    const unsubscribe = this.zk.onState(wake);
    const timer = setTimeout(wake, timeoutMs);
    try {
      if ((await this.zk.exists(path, wake)) !== undefined) await changed;
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw error;
    } finally {
      clearTimeout(timer);
      unsubscribe();
    }
  }
}
