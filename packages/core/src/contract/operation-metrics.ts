import type { Transition } from './state-machine.js';

/** Metrics of operations. Methods are called once per event and must not throw. */
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
   * @param prefix - prefix of additional statsd names, as the client library of the cloud sends them
   */
  apiCall?(provider: string, call: string, ms: number, outcome: string, prefix?: string): void;
  /** Instances were listed, or listing failed. @param ageMs - age of the present list */
  instanceListAge?(provider: string, ageMs: number): void;
  /** A machine changed its state. */
  transition?(provider: string, transition: Transition): void;
}

/** Labels of the metrics of a launch. */
export interface LaunchSubject {
  readonly provider: string;
  readonly az: string | null;
  readonly requestor: string | null;
  /** Name of the image in the configuration. */
  readonly image: string | null;
}
