import { steadyNow } from '@nodepool/zk-protocol';
import type { Progress } from '../context/progress.js';
import type { BuilderContext } from '../context/builder-context.js';

/** How often an upload's progress is written to the log. */
const LOG_INTERVAL_MS = 30_000;

/** The rate is that of the last so long, and not of a moment. */
const WINDOW_MS = 30_000;
const LEAST_MS = 1_000;

/** How far one upload is, for the web and, from time to time, for the log. */
export class UploadProgress {
  /** What had been sent when, of the last {@link WINDOW_MS}; begins with the first data. */
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];
  #loggedMs: number | undefined;

  constructor(
    private readonly context: Pick<BuilderContext, 'clock' | 'logger'>,
    private readonly at: Omit<Progress, 'phase'>,
    private readonly report: (progress: Progress) => void,
  ) {}

  /** So much of the image has been sent. */
  sent(sentBytes: number, totalBytes: number): void {
    const { clock, logger } = this.context;
    const nowMs = steadyNow(clock);
    const figures = { sentBytes, totalBytes, ...this.#rate(nowMs, sentBytes, totalBytes) };
    this.report({ ...this.at, phase: 'uploading', sentAtMs: clock.now(), ...figures });
    this.#loggedMs ??= nowMs;
    if (nowMs - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = nowMs;
    const { image, provider, uploadId } = this.at;
    logger.info('Upload continues', { image, provider, upload: uploadId, ...figures });
  }

  #rate(nowMs: number, sentBytes: number, totalBytes: number) {
    const samples = this.#samples;
    while (samples[1] && nowMs - samples[1].atMs >= WINDOW_MS) samples.shift();
    const first = samples[0] ?? { atMs: nowMs, bytes: 0 };
    if (nowMs - (samples.at(-1)?.atMs ?? -Infinity) >= LEAST_MS) {
      samples.push({ atMs: nowMs, bytes: samples.length === 0 ? 0 : sentBytes });
    }
    const elapsedMs = nowMs - first.atMs;
    const bytesPerSecond = Math.round(((sentBytes - first.bytes) / Math.max(LEAST_MS, elapsedMs)) * 1_000);
    if (bytesPerSecond <= 0 || elapsedMs < LEAST_MS) return { bytesPerSecond: Math.max(0, bytesPerSecond) };
    return { bytesPerSecond, secondsLeft: Math.ceil((totalBytes - sentBytes) / bytesPerSecond) };
  }
}
