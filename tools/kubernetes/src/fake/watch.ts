import type { ServerResponse } from 'node:http';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { isSelected, type Store, type Stored, type StoreEvent } from './store.js';

/** Options of a {@link Watch}. */
export interface WatchOptions {
  readonly response: ServerResponse;
  readonly store: Store;
  readonly selection: {
    readonly kind: string;
    readonly namespace: string | undefined;
    readonly selector: string | null;
    /** Objects that the user may see. */
    readonly isVisible: (object: Stored) => boolean;
  };
  readonly clock: Pick<Clock, 'setTimer'>;
  /** When the server ends it. */
  readonly seconds: number;
  readonly id: string;
  /** Version that the client has. */
  readonly version: number;
  readonly onEvent: ((watchId: string) => void) | undefined;
  /** Called with each event that is sent. */
  readonly onSend: (event: { type: string; object: object }) => void;
}

const BOOKMARK_MS = 60_000;

/** One open watch. A bookmark comes first, so that tests see that it is open. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #unsubscribe: () => void;
  #cancels: CancelTimer[] = [];

  /** @param past - changes since the version that the client has */
  constructor(options: WatchOptions, past: readonly StoreEvent[]) {
    this.#options = options;
    const { response, store, clock, seconds } = options;
    response.writeHead(200, { 'content-type': 'application/json' });
    this.#send('BOOKMARK', { metadata: { resourceVersion: String(options.version) } });
    this.#cancels.push(clock.setTimer(BOOKMARK_MS, () => this.#bookmark()));
    for (const event of past) this.#report(event);
    this.#unsubscribe = store.onEvent((event) => this.#report(event));
    this.#cancels.push(clock.setTimer(seconds * 1_000, () => this.#end()));
    response.once('close', () => this.#stop());
  }

  /** Breaks the connection. */
  break(): void {
    this.#stop();
    this.#options.response.destroy();
  }

  #end(): void {
    this.#stop();
    this.#options.response.end();
  }

  #stop(): void {
    this.#unsubscribe();
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  #bookmark(): void {
    const { store, clock } = this.#options;
    this.#send('BOOKMARK', { metadata: { resourceVersion: String(store.version) } });
    this.#cancels.push(clock.setTimer(BOOKMARK_MS, () => this.#bookmark()));
  }

  #report({ kind, type, object }: StoreEvent): void {
    const { selection } = this.#options;
    if (kind !== selection.kind || !isSelected(object, selection.selector) || !selection.isVisible(object)) return;
    if (selection.namespace !== undefined && object.metadata.namespace !== selection.namespace) return;
    this.#send(type, object);
  }

  #send(type: string, object: object): void {
    const { response, onEvent, onSend, id } = this.#options;
    if (response.destroyed) return;
    onSend({ type, object });
    onEvent?.(id);
    response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
