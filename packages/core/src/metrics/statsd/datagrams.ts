import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/** What fits into a datagram that no network splits, as Nodepool sends them. */
export const MAX_DATAGRAM_BYTES = 512;
/** How long lines wait for others to share their datagram. */
const LINGER_MS = 100;

/** Collects lines into datagrams. Stands in for the client's own socket, whose timers would keep the process alive. */
export class Datagrams {
  readonly #clock: Clock;
  readonly #send: (datagram: string) => void;
  #text = '';
  #bytes = 0;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, send: (datagram: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Adds a line. It is sent when its datagram is full, or a moment later. */
  send(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + 1 + bytes > MAX_DATAGRAM_BYTES) this.flush();
    this.#text = this.#bytes === 0 ? line : `${this.#text}\n${line}`;
    this.#bytes += bytes + (this.#bytes === 0 ? 0 : 1);
    this.#cancel ??= this.#clock.setTimer(LINGER_MS, () => this.flush());
  }

  /** Sends what was collected. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#bytes === 0) return;
    const text = this.#text;
    this.#text = '';
    this.#bytes = 0;
    this.#send(text);
  }

  /** The same as `flush`. */
  close(): void {
    this.flush();
  }
}
