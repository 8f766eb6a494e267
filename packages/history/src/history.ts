import { randomBytes } from 'node:crypto';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { newCondition, type FoundCondition, type HistorySettings, type Logger } from '@nodepool/core';
import type { LauncherMetrics } from '@nodepool/core/service';
import { HistoryFiles } from './files/history-files.js';
import { readHistoryPage, type HistoryPage, type PageQuery } from './files/history-page.js';
import { readHistory, type RunLines } from './files/read-history.js';
import type { OnDamage } from './files/stored-files.js';
import { causesOfRequest } from './record/causes.js';
import type { PastLine } from './record/event.js';
import { Recorder, type FollowedLauncher, type PastRequest } from './record/recorder.js';
import { SlowNodes } from './slow-nodes.js';

/** What happens within this time is written together; it is what is lost when the process is killed. */
const WRITE_MS = 5_000;
/** While requests wait, how often the file says that the launcher is there. */
const ALIVE_MS = 60_000;

/** What a record is kept with. */
export interface HistoryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: HistorySettings | undefined;
  /** Where the record is unless the settings say otherwise. */
  readonly defaultDirectory: string;
  /** What is counted while it is noted; missing: nothing. */
  readonly metrics?: Pick<LauncherMetrics, 'requestWaited' | 'nodeTooLong'>;
}

const DEFAULTS: HistorySettings = {
  ...{ enabled: true, directory: undefined },
  ...{ maxBytes: 200 * 1024 * 1024, maxAgeMs: 86_400_000 },
};

/** The record of what a launcher decided and when, for each request and node: kept in memory while it happens, then in files. */
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

  /** That it cannot be written, if so. @param hostname - of this launcher */
  conditions(hostname: string): FoundCondition[] {
    const failure = this.#files?.failure;
    if (!failure) return [];
    const { error, sinceMs, lastMs } = failure;
    const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT';
    const directory = this.#directory();
    const message = `the history in ${directory} cannot be written: ${error.message}; ${this.dropped} lines are lost`;
    const nextStep = isFull ? `free space on the disk of ${directory}` : `make ${directory} writable for this user`;
    const reason = isFull ? 'NoSpace' : 'NotWritable';
    return [
      newCondition('HistoryNotWritten', { name: hostname, reason, message, nextStep, sinceMs, lastSeenMs: lastMs }),
    ];
  }

  /** Follows a launcher from before its start on. */
  follow(launcher: FollowedLauncher): void {
    this.#unsubscribe.push(
      this.#recorder.follow(launcher),
      launcher.nodes.onChange((change) => this.#slow.nodeChanged(change)),
    );
  }

  /** Other settings are in force. */
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

  /** What this launcher, in this run and earlier ones, has on record of a request or node. */
  async read(id: string): Promise<readonly (RunLines & { readonly isRunning: boolean })[]> {
    const stored = this.#settings.enabled ? await readHistory(this.#directory(), id, this.#tellDamage) : [];
    const open = this.#openLines(id);
    const earlier = stored.map((run) => ({ ...run, isRunning: run.run === this.#run }));
    if (open.length === 0) return earlier;
    const own = earlier.find(({ isRunning }) => isRunning);
    const heardMs = this.#options.clock.now();
    const now = { run: this.#run, heardMs, lines: [...(own?.lines ?? []), ...open], isRunning: true };
    return [...earlier.filter((run) => run !== own), now];
  }

  /** What is in the files of this launcher and of earlier runs, piece by piece. */
  async page(query: PageQuery): Promise<HistoryPage> {
    if (!this.#settings.enabled) return { baseMs: 0, lines: [], next: undefined };
    return readHistoryPage(this.#directory(), query, this.#tellDamage);
  }

  /** Told once of each part. */
  readonly #tellDamage: OnDamage = ({ path }, error) => {
    if (this.#damaged.has(path)) return;
    this.#damaged.add(path);
    this.#options.logger.warn('A part of the history is damaged; what it held is not shown', { path, error });
  };

  /** Resolves when everything noted so far is in the files, or dropped. */
  async written(): Promise<void> {
    this.#cancelWrite?.();
    await this.#write();
  }

  /** What is not in the files yet, or only in part. */
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

  /** Writes what is left. */
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
    this.#cancelAlive ??= this.#options.clock.setTimer(ALIVE_MS, () => this.#tellAlive());
  }

  async #write(): Promise<void> {
    this.#cancelWrite = undefined;
    const lines = this.#recorder.take();
    await this.#files?.append(lines);
  }

  #tellAlive(): void {
    this.#cancelAlive = undefined;
    if (this.#recorder.openCount === 0) return;
    void this.#files?.append([this.#aliveLine('alive')]);
    this.#cancelAlive = this.#options.clock.setTimer(ALIVE_MS, () => this.#tellAlive());
  }

  #aliveLine(what: 'alive' | 'stop'): PastLine {
    return { kind: 'alive', timeMs: this.#options.clock.now(), what };
  }
}
