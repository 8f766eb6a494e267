import { LauncherEvents, type LauncherEventMap } from '@nodepool/core/launcher';
import type { Random } from '@nodepool/core/testing';

/** Calls listeners in a random order, which is to mean nothing. */
export class ShuffledEvents extends LauncherEvents {
  readonly #random: Random;
  readonly #inOrder = new Map<string, Set<(event: never) => void>>();

  constructor(random: Random) {
    super();
    this.#random = random;
  }

  override on<Name extends keyof LauncherEventMap>(
    name: Name,
    listener: (event: LauncherEventMap[Name]) => void,
  ): () => void {
    const before = this.#inOrder.get(name) ?? [];
    this.#inOrder.set(name, new Set(this.#random.shuffle([...before, listener])));
    return () => this.#inOrder.get(name)?.delete(listener);
  }

  override emit<Name extends keyof LauncherEventMap>(name: Name, event: LauncherEventMap[Name]): void {
    for (const listener of this.#inOrder.get(name) ?? []) (listener as (event: LauncherEventMap[Name]) => void)(event);
  }
}
