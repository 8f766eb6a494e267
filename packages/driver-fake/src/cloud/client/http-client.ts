import { Agent, request, type IncomingMessage } from 'node:http';
import { dirname } from 'node:path';
import { delay, orAbort, type Clock } from '@nodepool/zk-protocol';
import type { CallName, CloudCalls } from './calls.js';
import type { CloudChange, CloudClient } from './client.js';
import { CloudFailure, type FailureKind, type InstanceEvent } from '../model/types.js';
import { ensureCloudDir, type ServerAddress } from './address.js';

/** Options of an {@link HttpClient}. */
export interface HttpClientOptions {
  readonly address: ServerAddress;
  readonly clock: Clock;
  /** Starts the server; called after each failed attempt to connect. */
  readonly revive?: (() => void) | undefined;
  /** Called for each lost connection. */
  readonly onLost?: ((reason: Error) => void) | undefined;
}

const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 250;

/** Calls the server of a cloud over HTTP and, once started, follows its events. */
export class HttpClient implements CloudClient {
  readonly #options: HttpClientOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(change: CloudChange) => void>();
  /** Reported instances that are not known to be gone. After a lost connection their state is unknown. */
  readonly #reported = new Set<string>();
  #connected: Promise<void> | undefined;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#connected ??= this.#connect();
    return orAbort(this.#connected, signal);
  }

  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]> {
    // The server answers a call of this name with this type.
    return this.request(name, args, signal) as Promise<CloudCalls[Name][1]>;
  }

  /** Makes any call, known or not. Resolves to the answer of the server. */
  async request(name: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    const answer = this.#answerTo(name, args);
    // The server is not notified of an abort: its answer is ignored.
    return signal ? orAbort(answer, signal) : answer;
  }

  onChange(listener: (change: CloudChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed.abort(new CloudFailure('unavailable', 'the client is closed'));
    this.#agent.destroy();
  }

  async #answerTo(name: string, args: unknown): Promise<unknown> {
    try {
      const response = await this.#send(name, args);
      const body: unknown = JSON.parse(await textOf(response));
      if (response.statusCode === 200) return body;
      const { kind, message } = body as { kind: FailureKind; message: string };
      throw new CloudFailure(kind, message);
    } catch (error) {
      throw error instanceof CloudFailure ? error : noAnswer(error as NodeJS.ErrnoException);
    }
  }

  #send(name: string, args: unknown): Promise<IncomingMessage> {
    const { address } = this.#options;
    const where = 'path' in address ? { socketPath: address.path } : address;
    return new Promise((resolve, reject) => {
      this.#closed.signal.throwIfAborted();
      request({ ...where, agent: this.#agent, method: 'POST', path: `/${name}` }, resolve)
        .once('error', reject)
        .end(JSON.stringify(args));
    });
  }

  /** Opens the event stream, starting the server if none answers. Rejects only when the client is closed. */
  async #connect(): Promise<void> {
    const { address, clock } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
      try {
        // Check the owner of the directory: another user could offer a socket there.
        if ('path' in address) ensureCloudDir(dirname(address.path));
        const events = await this.#send('events', null);
        if (events.statusCode !== 200) throw new Error(`the server answers ${events.statusCode}`);
        void this.#follow(events);
        return;
      } catch {
        this.#closed.signal.throwIfAborted();
        this.#revive();
        await delay(clock, pauseMs, this.#closed.signal);
      }
    }
  }

  #revive(): void {
    try {
      this.#options.revive?.();
    } catch (error) {
      this.#options.onLost?.(error as Error);
    }
  }

  async #follow(events: IncomingMessage): Promise<void> {
    const unsure = [...this.#reported];
    this.#reported.clear();
    for (const id of unsure) this.#notify({ id, instance: undefined });
    let reason = new Error('the server closed the connection');
    try {
      let rest = '';
      for await (const chunk of events.setEncoding('utf8') as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#heard(JSON.parse(line) as InstanceEvent);
      }
    } catch (error) {
      reason = error as Error;
    }
    if (this.#closed.signal.aborted) return;
    this.#options.onLost?.(reason);
    this.#connected = this.#connect();
    this.#connected.catch(() => {}); // closed in the meantime
  }

  #heard(event: InstanceEvent): void {
    if (event.instance) this.#reported.add(event.id);
    else this.#reported.delete(event.id);
    this.#notify(event);
  }

  #notify(change: CloudChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Without a connection the call had no effect; otherwise its effect is unknown. */
function noAnswer(error: NodeJS.ErrnoException): CloudFailure {
  const kind = error.syscall === 'connect' ? 'unavailable' : 'reset';
  return new CloudFailure(kind, `no answer from the cloud: ${error.message}`);
}

function textOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    response.once('end', () => resolve(text)).once('error', reject);
  });
}
