import type { Progress } from '../context/progress.js';
import type { BuilderContext } from '../context/builder-context.js';

/** How often an upload's progress is written to the log. */
const LOG_INTERVAL_MS = 30_000;

/** How far one upload is, for the web and, from time to time, for the log. */
export class UploadProgress {
  readonly #begunMs: number;
  #loggedMs: number;

  constructor(
    private readonly context: Pick<BuilderContext, 'clock' | 'logger'>,
    private readonly at: Omit<Progress, 'phase'>,
    private readonly report: (progress: Progress) => void,
  ) {
    this.#begunMs = this.#loggedMs = context.clock.now();
  }

  /** So much of the image has been sent. */
  sent(sentBytes: number, totalBytes: number): void {
    const { clock, logger } = this.context;
    const nowMs = clock.now();
    const elapsedMs = Math.max(1, nowMs - this.#begunMs);
    const bytesPerSecond = Math.round((sentBytes / elapsedMs) * 1_000);
    const secondsLeft = bytesPerSecond === 0 ? undefined : Math.ceil((totalBytes - sentBytes) / bytesPerSecond);
    const figures = { sentBytes, totalBytes, bytesPerSecond, ...(secondsLeft === undefined ? {} : { secondsLeft }) };
    this.report({ ...this.at, phase: 'uploading', sentAtMs: nowMs, ...figures });
    if (nowMs - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = nowMs;
    const { image, provider, uploadId } = this.at;
    logger.info('Upload continues', { image, provider, upload: uploadId, ...figures });
  }
}
