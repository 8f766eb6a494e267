import { statfs } from 'node:fs/promises';
import type { FoundCondition } from '@nodepool/core';
import { newCondition, type ConditionTypes } from '@nodepool/core/service';

/** Conditions of the state directory. */
export const CONDITIONS = {
  NoSpace: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning:
      'the disk of the state directory, which holds the embedded ZooKeeper and the history, is nearly full; an error when it is full',
    reasons: { Scarce: 'less than 100 MiB', Full: 'less than 1 MiB' },
    nextStep: 'free space on the disk',
  },
} as const satisfies ConditionTypes;

/** Thresholds of free space, bytes. */
export interface SpaceLimits {
  /** Below this, a warning. */
  readonly scarceBytes: number;
  /** Below this, an error: the embedded ZooKeeper and the history cannot write any more. */
  readonly fullBytes: number;
}

const MIB = 1024 * 1024;
const DEFAULT_LIMITS: SpaceLimits = { scarceBytes: 100 * MIB, fullBytes: MIB };

/** Checks the free space of the state directory in the background, so that a hanging disk blocks nothing. */
export class DiskSpace {
  readonly #directory: string;
  readonly #hostname: string;
  readonly #limits: SpaceLimits;
  #freeBytes = Infinity;
  #checking: Promise<void> | undefined;

  /** @param hostname - of this launcher */
  constructor(directory: string, hostname: string, limits: SpaceLimits = DEFAULT_LIMITS) {
    this.#directory = directory;
    this.#hostname = hostname;
    this.#limits = limits;
  }

  /** Reports the result of the last check and starts the next one. */
  conditions(): FoundCondition[] {
    void this.check();
    const { scarceBytes, fullBytes } = this.#limits;
    if (this.#freeBytes >= scarceBytes) return [];
    const isFull = this.#freeBytes < fullBytes;
    const limitMib = Math.round((isFull ? fullBytes : scarceBytes) / MIB);
    return [
      newCondition(CONDITIONS, 'NoSpace', {
        ...{ name: this.#hostname, severity: isFull ? 'error' : 'warning', reason: isFull ? 'Full' : 'Scarce' },
        message: `less than ${limitMib} MiB are free on the disk of the state directory ${this.#directory}`,
        nextStep: `free space on the disk of ${this.#directory}`,
      }),
    ];
  }

  /** Resolves when the free space is known. A directory that does not exist yet is not full. */
  check(): Promise<void> {
    this.#checking ??= statfs(this.#directory)
      .then(
        ({ bavail, bsize }) => void (this.#freeBytes = bavail * bsize),
        () => void (this.#freeBytes = Infinity),
      )
      .finally(() => (this.#checking = undefined));
    return this.#checking;
  }
}
