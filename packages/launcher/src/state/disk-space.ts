import { statfs } from 'node:fs/promises';
import type { FoundCondition } from '@nodepool/core';
import { newCondition } from '@nodepool/core/service';

/** How little space is worth a condition, bytes. */
export interface SpaceLimits {
  /** A warning below this. */
  readonly scarceBytes: number;
  /** An error below this: the embedded ZooKeeper and the history cannot write any more. */
  readonly fullBytes: number;
}

const MIB = 1024 * 1024;
const DEFAULT_LIMITS: SpaceLimits = { scarceBytes: 100 * MIB, fullBytes: MIB };

/** Whether the disk of the state directory has space. Looks in the background: a disk that hangs holds nothing up. */
export class DiskSpace {
  readonly #directory: string;
  readonly #hostname: string;
  readonly #limits: SpaceLimits;
  #freeBytes = Infinity;
  #looking: Promise<void> | undefined;

  /** @param hostname - of this launcher */
  constructor(directory: string, hostname: string, limits: SpaceLimits = DEFAULT_LIMITS) {
    this.#directory = directory;
    this.#hostname = hostname;
    this.#limits = limits;
  }

  /** As the last look found it; begins the next. */
  conditions(): FoundCondition[] {
    void this.look();
    const { scarceBytes, fullBytes } = this.#limits;
    if (this.#freeBytes >= scarceBytes) return [];
    const isFull = this.#freeBytes < fullBytes;
    const limitMib = Math.round((isFull ? fullBytes : scarceBytes) / MIB);
    return [
      newCondition('NoSpace', {
        ...{ name: this.#hostname, severity: isFull ? 'error' : 'warning', reason: isFull ? 'Full' : 'Scarce' },
        message: `less than ${limitMib} MiB are free on the disk of the state directory ${this.#directory}`,
        nextStep: `free space on the disk of ${this.#directory}`,
      }),
    ];
  }

  /** Resolves when the space is known. A directory that does not exist yet is not full. */
  look(): Promise<void> {
    this.#looking ??= statfs(this.#directory)
      .then(
        ({ bavail, bsize }) => void (this.#freeBytes = bavail * bsize),
        () => void (this.#freeBytes = Infinity),
      )
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }
}
