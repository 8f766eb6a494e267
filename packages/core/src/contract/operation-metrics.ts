import type { Transition } from './state-machine.js';

/** What operations report. Every method is called at most once per happening and must not throw. */
export interface OperationMetrics {
  /**
   * A launch attempt ended.
   * @param result - `ready`, or the metric of the error such as `error.quota`
   * @param ms - since the attempt began
   */
  launchEnded?(result: string, ms: number, of: LaunchSubject): void;
  /** The instance behind a node is gone, `ms` after its deletion began. */
  deleteEnded?(ms: number, of: { readonly provider: string }): void;
  /** A leaked resource was deleted. @param plural - metric-safe plural of its kind, e.g. `instances` */
  leaked?(provider: string, plural: string): void;
  /**
   * A call to the cloud ended.
   * @param outcome - `ok`, the status of the answer, or the metric of the error
   * @param prefix - of further names in statsd, as the cloud's client library sends them
   */
  apiCall?(provider: string, call: string, ms: number, outcome: string, prefix?: string): void;
  /** The instances of a cloud were read, or could not be. @param ageMs - how old what is known of them is now */
  instanceListAge?(provider: string, ageMs: number): void;
  /** A machine changed its state. */
  transition?(provider: string, transition: Transition): void;
}

/** What a launch counts under. */
export interface LaunchSubject {
  readonly provider: string;
  readonly az: string | null;
  readonly requestor: string | null;
  /** Name of the image in the configuration. */
  readonly image: string | null;
}
