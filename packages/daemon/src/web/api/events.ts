import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CancelTimer, Clock, JsonObject } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { ApiError } from '../api-error.js';
import { shareOf } from '../client-share.js';
import { EVENT_STREAM_HEADERS } from '../event-stream-headers.js';

/** A change in a service. */
export interface ApiEvent {
  readonly type: 'node' | 'request' | 'image' | 'launch' | 'control' | 'condition';
  readonly id: string;
  /** The record in its form in the API, or `null` if it was deleted. Called only if there are listeners. */
  data(): JsonObject | null;
}

const RECORD_TYPES: ReadonlySet<string> = new Set(['node', 'request', 'image', 'launch', 'control', 'condition']);
const ALL_TYPES: ReadonlySet<string> = new Set([...RECORD_TYPES, 'overview']);

/** Limit of open streams, and of those of one client: others have theirs, whatever it does. */
export const MOST_STREAMS = { all: 250, ofClient: 50 };
/** Limit of unsent data per reader; beyond it the reader is disconnected. */
const MOST_BUFFERED_BYTES = 1024 * 1024;
const HEARTBEAT_MS = 15_000;
/** Minimum interval of overviews while records change. */
const OVERVIEW_MS = 1_000;
/** Interval of comparing overviews otherwise, as reasons and rates change without records. */
const QUIET_OVERVIEW_MS = 10_000;

/** Options of {@link EventStreams}. */
export interface EventStreamsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The overview as JSON text. */
  readonly overview: () => string;
}

interface Reader {
  readonly response: ServerResponse;
  /** What the client counts by. */
  readonly client: string;
  readonly types: ReadonlySet<string>;
}

/** Sends server-sent events to many readers. Encodes each event once. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #readers = new Set<Reader>();
  #nextId = 1;
  #heartbeat: CancelTimer | undefined;
  #overviewTimer: CancelTimer | undefined;
  #overviewDueMs = Infinity;
  #lastOverviewMs = -Infinity;
  #lastOverview = '';

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  /** Open streams. */
  get size(): number {
    return this.#readers.size;
  }

  /**
   * Starts a stream.
   * @param names - names of events separated by commas; `undefined`: records, no overview
   * @param address - IP address of the client
   * @throws ApiError 429 or 503, without writing anything, if too many streams are open
   */
  open(request: IncomingMessage, response: ServerResponse, names: string | undefined, address: string): void {
    const client = shareOf(address);
    this.#checkLimits(client);
    const wanted = names?.split(',').filter((name) => ALL_TYPES.has(name));
    const reader = { response, client, types: wanted === undefined ? RECORD_TYPES : new Set(wanted) };
    response.writeHead(200, EVENT_STREAM_HEADERS);
    response.write('retry: 2000\n: connected\n\n');
    this.#readers.add(reader);
    request.on('close', () => this.#leave(reader));
    response.on('close', () => this.#leave(reader));
    response.on('error', () => this.#leave(reader));
    this.#heartbeat ??= this.#options.clock.setTimer(HEARTBEAT_MS, () => this.#beat());
    if (reader.types.has('overview')) {
      // reuses the last text, so that a hundred pages that reconnect at once cost one computation
      this.#send(reader, this.#frame('overview', this.#currentOverview()));
      this.#scheduleOverview(QUIET_OVERVIEW_MS);
    }
  }

  #checkLimits(client: string): void {
    if (this.#readers.size >= MOST_STREAMS.all) {
      throw new ApiError(503, 'too-many-streams', 'Too many open streams; retry later');
    }
    let count = 0;
    for (const reader of this.#readers) if (reader.client === client) count++;
    if (count < MOST_STREAMS.ofClient) return;
    const text =
      `${client} has ${count} open streams, as many as one address may have: close some, or poll instead. ` +
      'If it is a proxy, name it in trusted-proxies of webapp, so that its clients count by their own addresses';
    throw new ApiError(429, 'too-many-streams', text);
  }

  /** Sends an event to all readers of its type. */
  publish(event: ApiEvent): void {
    if (this.#readers.size === 0) return;
    let frame: string | undefined;
    for (const reader of this.#readers) {
      if (!reader.types.has(event.type)) continue;
      frame ??= this.#frame(event.type, JSON.stringify({ id: event.id, [event.type]: event.data() }));
      this.#send(reader, frame);
    }
    this.changed();
  }

  /** Schedules an overview after a change that has no event. */
  changed(): void {
    const { clock } = this.#options;
    this.#scheduleOverview(Math.max(0, this.#lastOverviewMs + OVERVIEW_MS - clock.now()));
  }

  /** Closes all streams. */
  close(): void {
    this.#heartbeat?.();
    this.#overviewTimer?.();
    for (const { response } of this.#readers) response.destroy();
    this.#readers.clear();
  }

  #frame(type: string, data: string): string {
    return `id: ${this.#nextId++}\nevent: ${type}\ndata: ${data}\n\n`;
  }

  #send(reader: Reader, frame: string): void {
    const { response } = reader;
    response.write(frame);
    if (response.writableLength <= MOST_BUFFERED_BYTES) return;
    this.#options.logger.info('Disconnected a slow reader of events', { bytes: response.writableLength });
    this.#leave(reader);
    response.destroy();
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
  }

  #beat(): void {
    this.#heartbeat = undefined;
    if (this.#readers.size === 0) return;
    for (const reader of this.#readers) this.#send(reader, ': here\n\n');
    this.#heartbeat = this.#options.clock.setTimer(HEARTBEAT_MS, () => this.#beat());
  }

  #wantsOverview(): boolean {
    for (const { types } of this.#readers) if (types.has('overview')) return true;
    return false;
  }

  #currentOverview(): string {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#lastOverviewMs >= OVERVIEW_MS) {
      this.#lastOverview = this.#options.overview();
      this.#lastOverviewMs = nowMs;
    }
    return this.#lastOverview;
  }

  #scheduleOverview(inMs: number): void {
    const { clock } = this.#options;
    const dueMs = clock.now() + inMs;
    if (dueMs >= this.#overviewDueMs || !this.#wantsOverview()) return;
    this.#overviewTimer?.();
    this.#overviewDueMs = dueMs;
    this.#overviewTimer = clock.setTimer(inMs, () => this.#sendOverview());
  }

  #sendOverview(): void {
    this.#overviewDueMs = Infinity;
    this.#overviewTimer = undefined;
    if (!this.#wantsOverview()) return;
    const before = this.#lastOverview;
    this.#lastOverviewMs = this.#options.clock.now();
    this.#lastOverview = this.#options.overview();
    this.#scheduleOverview(QUIET_OVERVIEW_MS);
    if (this.#lastOverview === before) return;
    const frame = this.#frame('overview', this.#lastOverview);
    for (const reader of this.#readers) if (reader.types.has('overview')) this.#send(reader, frame);
  }
}
