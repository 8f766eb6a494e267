/** Where a piece of work is. */
export interface Progress {
  readonly image: string;
  readonly buildId: string;
  readonly startedMs: number;
  /** Phase of a build, e.g. `root` or `convert`; of an upload `hook`, `uploading` ... */
  phase: string;
  /** Set for uploads. */
  readonly provider?: string;
  readonly uploadId?: string;
  sentBytes?: number;
  totalBytes?: number;
  /** Of an upload, over its whole time. */
  bytesPerSecond?: number;
  /** Of an upload, at that rate. */
  secondsLeft?: number;
}
