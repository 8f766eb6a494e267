import { randomBytes } from 'node:crypto';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { FoundCondition, Logger } from '@nodepool/core';
import type { HistorySettings } from '@nodepool/core/config';
import { newCondition, type ConditionTypes, type LauncherMetrics } from '@nodepool/core/service';
import { HistoryFiles } from './files/history-files.js';
import {
  readHistory,
  readHistoryPage,
  readLines,
  type HistoryPage,
  type PageQuery,
  type RunLines,
} from './files/read-history.js';
import type { OnDamage } from './files/stored-files.js';
import { causesOfRequest } from './record/causes.js';
import type { PastLine } from './record/event.js';
import { Recorder, type FollowedLauncher, type PastRequest } from './record/recorder.js';
import { SlowNodes } from './slow-nodes.js';

/** Conditions of the history. */
export const CONDITIONS = {
  HistoryNotWritten: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the history of requests and nodes cannot be written; events are lost until it can',
    reasons: { NoSpace: 'the disk is full', NotWritable: 'the directory cannot be written' },
    nextStep: 'free space, or correct the permissions of the directory',
  },
} as const satisfies ConditionTypes;

/** Interval between writes. When the process is killed, at most this much is lost. */
const WRITE_MS = 5_000;
/** Interval of the lines that prove the launcher was running while requests waited. */
const ALIVE_MS = 60_000;

/** Options of {@link History}. */
export interface HistoryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of this launcher. */
  readonly hostname: string;
  readonly settings: HistorySettings | undefined;
  /** Used if the settings name no directory. */
  readonly defaultDirectory: string;
  /** Receives waiting times and slow nodes; optional. */
  readonly metrics?: Pick<LauncherMetrics, 'requestWaited' | 'nodeTooLong'>;
}

const DEFAULTS: HistorySettings = {
  ...{ enabled: true, directory: undefined },
  ...{ maxBytes: 200 * 1024 * 1024, maxAgeMs: 86_400_000 },
};

/** Records the decisions of a launcher about each request and node: in memory while the record is open, then in files. */
export class History {
  readonly #options: HistoryOptions;
  readonly #recorder: Recorder;
  readonly #slow: SlowNodes;
  readonly #run = randomBytes(4).toString('hex');
  readonly #unsubscribe: CancelTimer[] = [];
  #settings: HistorySettings;
  #files: HistoryFiles | undefined;
  #cancelWrite: CancelTimer | undefined;
  #cancelAlive: CancelTimer | undefined;
  #droppedBefore = 0;
  readonly #damaged = new Set<string>();

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#settings = options.settings ?? DEFAULTS;
    this.#recorder = new Recorder({
      clock: options.clock,
      dirty: () => this.#writeSoon(),
      fulfilled: (past) => this.#countWaits(past),
    });
    this.#slow = new SlowNodes({
      clock: options.clock,
      isOwn: (launcherId) => this.#recorder.isOwn(launcherId),
      tooLong: (provider, state) => options.metrics?.nodeTooLong?.(provider, state),
    });
    this.#open();
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#droppedBefore + (this.#files?.dropped ?? 0);
  }

  /** Reports a history that cannot be written. */
  conditions(): FoundCondition[] {
    const failure = this.#files?.failure;
    if (!failure) return [];
    const { error, sinceMs, lastMs } = failure;
    const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT';
    const directory = this.#directory();
    const message = `the history in ${directory} cannot be written: ${error.message}; ${this.dropped} lines are lost`;
    const nextStep = isFull ? `free space on the disk of ${directory}` : `make ${directory} writable for this user`;
    const reason = isFull ? 'NoSpace' : 'NotWritable';
    return [
      newCondition(CONDITIONS, 'HistoryNotWritten', {
        ...{ name: this.#options.hostname, reason, message, nextStep, sinceMs, lastSeenMs: lastMs },
      }),
    ];
  }

  /** Records the events of a launcher. Call it before the launcher starts. */
  follow(launcher: FollowedLauncher): void {
    this.#unsubscribe.push(
      this.#recorder.follow(launcher),
      launcher.nodes.onChange((change) => this.#slow.nodeChanged(change)),
    );
  }

  /** Applies changed settings. */
  async configure(settings: HistorySettings = DEFAULTS): Promise<void> {
    const before = JSON.stringify(this.#settings);
    this.#settings = settings;
    if (JSON.stringify(settings) === before) return;
    const files = this.#files;
    this.#files = undefined;
    this.#open();
    await files?.close();
    this.#droppedBefore += files?.dropped ?? 0;
  }

  /** Reads all lines about a request or node, of this run and of earlier runs. */
  async read(id: string): Promise<readonly (RunLines & { readonly isRunning: boolean })[]> {
    const stored = this.#settings.enabled ? await readHistory(this.#directory(), id, this.#reportDamage) : [];
    const open = this.#openLines(id);
    const earlier = stored.map((run) => ({ ...run, isRunning: run.run === this.#run }));
    if (open.length === 0) return earlier;
    const own = earlier.find(({ isRunning }) => isRunning);
    const heardMs = this.#options.clock.now();
    const now = { run: this.#run, heardMs, lines: [...(own?.lines ?? []), ...open], isRunning: true };
    return [...earlier.filter((run) => run !== own), now];
  }

  /** Reads one page of the files of this run and of earlier runs. */
  async page(query: PageQuery): Promise<HistoryPage> {
    if (!this.#settings.enabled) return { baseMs: 0, lines: [], next: undefined };
    return readHistoryPage(this.#directory(), query, this.#reportDamage);
  }

  /** Adds all lines up to now, of this run and of earlier runs. */
  async addTo(record: { add(line: PastLine): void }): Promise<void> {
    await this.written();
    if (!this.#settings.enabled) return;
    const nowMs = this.#options.clock.now();
    for await (const line of readLines(this.#directory(), nowMs, this.#reportDamage)) record.add(line);
  }

  /** Logs each damaged file once. */
  readonly #reportDamage: OnDamage = ({ path }, error) => {
    if (this.#damaged.has(path)) return;
    this.#damaged.add(path);
    this.#options.logger.warn('Skipping the rest of a damaged history file', { path, error });
  };

  /** Resolves when all events so far are written or dropped. */
  async written(): Promise<void> {
    this.#cancelWrite?.();
    await this.#write();
  }

  /** Lines of open records, which the files hold in part or not at all. */
  #openLines(id: string): PastLine[] {
    const request = this.#recorder.request(id);
    const node = this.#recorder.node(id);
    const nodes = new Set([...(request?.nodes ?? []), ...(node ? [node] : [])]);
    const lines: PastLine[] = [...nodes].map(({ id: nodeId, facts, events }) => ({
      ...{ kind: 'node', id: nodeId, facts, isFirst: true, events: [...events] },
    }));
    if (request) lines.push({ kind: 'request', id, facts: request.facts, events: request.eventsNow() });
    return lines;
  }

  /** Writes all pending lines and stops recording. */
  async close(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    this.#cancelWrite?.();
    this.#cancelAlive?.();
    this.#slow.close();
    await this.#write();
    if (this.#files) await this.#files.append([this.#aliveLine('stop')]);
    await this.#files?.close();
    this.#droppedBefore = this.dropped;
    this.#files = undefined;
  }

  #countWaits({ request, isOwn }: PastRequest): void {
    const { metrics } = this.#options;
    if (!isOwn || !metrics?.requestWaited) return;
    for (const { cause, beginMs, endMs = beginMs } of causesOfRequest(request))
      metrics.requestWaited(cause, request.facts.labels, endMs - beginMs);
  }

  #directory(): string {
    return this.#settings.directory ?? this.#options.defaultDirectory;
  }

  #open(): void {
    const { clock, logger } = this.#options;
    const { enabled, maxAgeMs, maxBytes } = this.#settings;
    if (!enabled) return;
    const directory = this.#directory();
    this.#files = new HistoryFiles({ clock, logger, directory, maxAgeMs, maxBytes, run: this.#run });
  }

  #writeSoon(): void {
    this.#cancelWrite ??= this.#options.clock.setTimer(WRITE_MS, () => void this.#write());
    this.#cancelAlive ??= this.#options.clock.setTimer(ALIVE_MS, () => this.#writeAlive());
  }

  async #write(): Promise<void> {
    this.#cancelWrite = undefined;
    const lines = this.#recorder.take();
    await this.#files?.append(lines);
  }

  /** Also tries again what failed, so that a failure ends without an event. */
  #writeAlive(): void {
    this.#cancelAlive = undefined;
    if (this.#recorder.openCount === 0 && !this.#files?.failure) return;
    void this.#files?.append([this.#aliveLine('alive')]);
    this.#cancelAlive = this.#options.clock.setTimer(ALIVE_MS, () => this.#writeAlive());
  }

  #aliveLine(what: 'alive' | 'stop'): PastLine {
    return { kind: 'alive', timeMs: this.#options.clock.now(), what };
  }
}
