import type { Clock } from '@nodepool/zk-protocol';
import type { Exposition, Sample } from './exposition.js';
import type { Statsd } from './statsd/statsd.js';
import type { PrometheusKey, StatsdKey } from './table/table.js';

/** Events of a builder. Methods are cheap and do not throw. */
export interface BuilderEvents {
  /** A build ended. @param result - `exitCode` is 1 when the tool timed out or could not be run */
  buildEnded(image: string, result: { readonly exitCode: number; readonly durationMs: number }): void;
  /** An image file of a successful build. @param bytes - on disk */
  imageBuilt(image: string, format: string, bytes: number): void;
  /** An upload is ready and its hook has finished. */
  uploaded(image: string, provider: string, durationMs: number): void;
  /** Called when the activity of images may have changed. */
  imagesChanged(images: readonly ImageActivity[], load: BuilderLoad): void;
  /** A sweep found work that no event announced, which is a defect. */
  sweepFound(work: 'build' | 'upload' | 'cleanup'): void;
}

/** Running work of a builder, and its limits. */
export interface BuilderLoad {
  readonly builds: number;
  readonly uploads: number;
  readonly buildWorkers: number;
  readonly uploadWorkers: number;
}

/** Figures of a build. */
export interface NewestBuild {
  /** In ms since the epoch. */
  readonly builtMs: number;
  /** `null`: not recorded. */
  readonly seconds: number | null;
  /** Bytes by format. */
  readonly sizes: Readonly<Record<string, number>>;
}

/** Activity of one builder for one image. */
export interface ImageActivity {
  readonly image: string;
  readonly isBuildRequested: boolean;
  readonly build: 'idle' | 'building' | 'paused';
  /** Percentage of launches with the newest build. */
  readonly newestPercent: number;
  /** Whether the newest build was withdrawn. */
  readonly isWithdrawn: boolean;
  /** Of the newest ready build; `undefined`: none. */
  readonly newest: NewestBuild | undefined;
  /** When the build in service ended, by provider, in ms since the epoch; 0: no upload is ready. */
  readonly servedMs: ReadonlyMap<string, number>;
  /** By provider. */
  readonly uploads: ReadonlyMap<string, 'idle' | 'uploading' | 'paused'>;
  /** Number of failed uploads since the last successful one, by provider. */
  readonly failures: ReadonlyMap<string, number>;
}

const STATES = { idle: 0, building: 1, uploading: 2, paused: 3 } as const;

/** Counts events of a builder for statsd and Prometheus. */
export class BuilderMetrics implements BuilderEvents {
  #images: readonly ImageActivity[] = [];
  #load: BuilderLoad | undefined;

  /** @param host - fully qualified host name of the builder */
  constructor(
    private readonly clock: Clock,
    private readonly host: string,
    private readonly statsd: Statsd | undefined,
    private readonly exposition: () => Exposition,
  ) {}

  /** Readers of the metrics that are collected on demand. */
  readers(): Partial<Record<PrometheusKey, () => Iterable<Sample>>> {
    const load = (read: (load: BuilderLoad) => number) => (): Sample[] => (this.#load ? [[{}, read(this.#load)]] : []);
    return {
      currentBuilds: load(({ builds }) => builds),
      currentUploads: load(({ uploads }) => uploads),
      buildWorkers: load(({ buildWorkers }) => buildWorkers),
      uploadWorkers: load(({ uploadWorkers }) => uploadWorkers),
      buildRequests: () => this.#images.map(({ image, isBuildRequested }) => [{ image }, isBuildRequested ? 1 : 0]),
      buildState: () => this.#images.map(({ image, build }) => [{ image }, STATES[build]]),
      canary: () => this.#images.map(({ image, newestPercent }) => [{ image }, newestPercent]),
      withdrawn: () => this.#images.map(({ image, isWithdrawn }) => [{ image }, isWithdrawn ? 1 : 0]),
      ...this.#figures(),
      failingUploads: () =>
        this.#images.flatMap(({ image, failures }) =>
          [...failures].map(([provider, count]): Sample => [{ image, provider }, count]),
        ),
      uploadState: () =>
        this.#images.flatMap(({ image, uploads }) =>
          [...uploads].map(([provider, state]): Sample => [{ image, provider }, STATES[state]]),
        ),
    };
  }

  /** Readers of age, duration and size of the newest builds. */
  #figures(): Partial<Record<PrometheusKey, () => Iterable<Sample>>> {
    const each = (read: (newest: NewestBuild, image: string) => Sample[]) => () =>
      this.#images.flatMap(({ image, newest }) => (newest ? read(newest, image) : []));
    return {
      imageBuilt: each(({ builtMs }, image) => [[{ image }, builtMs / 1_000]]),
      imageBuildTime: each(({ seconds }, image) => (seconds === null ? [] : [[{ image }, seconds]])),
      imageFileSize: each(({ sizes }, image) =>
        Object.entries(sizes).map(([format, bytes]): Sample => [{ image, format }, bytes]),
      ),
      imageServed: () =>
        this.#images.flatMap(({ image, servedMs }) =>
          [...servedMs].map(([provider, ms]): Sample => [{ image, provider }, ms / 1_000]),
        ),
    };
  }

  buildEnded(
    image: string,
    { exitCode, durationMs }: { readonly exitCode: number; readonly durationMs: number },
  ): void {
    this.#gauge('buildRc', { image }, exitCode);
    this.#gauge('lastBuild', { image }, Math.floor(this.clock.now() / 1_000));
    this.statsd?.report('buildDuration', { image }, durationMs);
    this.exposition().count('builds', { image, rc: String(exitCode) });
    this.exposition().observe('buildDuration', { image }, durationMs);
  }

  imageBuilt(image: string, format: string, bytes: number): void {
    this.#gauge('imageSize', { image, format }, bytes);
  }

  uploaded(image: string, provider: string, durationMs: number): void {
    this.statsd?.report('uploads', { image, provider }, durationMs);
    this.exposition().observe('uploads', { image, provider }, durationMs);
  }

  imagesChanged(images: readonly ImageActivity[], load: BuilderLoad): void {
    this.#images = images;
    this.#load = load;
    const host = { host: this.host.split('.', 1)[0] ?? this.host };
    this.#gauge('currentBuilds', host, load.builds);
    this.#gauge('currentUploads', host, load.uploads);
    this.#gauge('buildWorkers', host, load.buildWorkers);
    this.#gauge('uploadWorkers', host, load.uploadWorkers);
    this.#gauge('allBuildRequests', {}, images.filter(({ isBuildRequested }) => isBuildRequested).length);
    for (const { image, isBuildRequested, build, uploads } of images) {
      this.#gauge('buildRequests', { image }, isBuildRequested ? 1 : 0);
      this.#gauge('buildState', { host: this.host, image }, STATES[build]);
      for (const [provider, state] of uploads) {
        this.#gauge('uploadState', { host: this.host, image, provider }, STATES[state]);
      }
    }
  }

  sweepFound(work: 'build' | 'upload' | 'cleanup'): void {
    this.exposition().count('sweepFound', { work });
  }

  #gauge(key: StatsdKey, labels: Readonly<Record<string, string>>, value: number): void {
    this.statsd?.gauge(key, labels, value);
  }
}
