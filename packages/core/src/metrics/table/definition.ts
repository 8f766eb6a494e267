/** What may vary within a metric: a part of its statsd name, a label in Prometheus. */
export type LabelName =
  | 'az'
  | 'cache'
  | 'call'
  | 'cause'
  | 'format'
  | 'host'
  | 'image'
  | 'kind'
  | 'label'
  | 'machine'
  | 'mode'
  | 'name'
  | 'outcome'
  | 'pool'
  | 'prefix'
  | 'provider'
  | 'rc'
  | 'reason'
  | 'requestor'
  | 'resource'
  | 'result'
  | 'severity'
  | 'state'
  | 'status'
  | 'tenant'
  | 'type'
  | 'version'
  | 'work';

/** Values of labels; `null` is "not known": names that need it are not sent. */
export type LabelValues = Readonly<Partial<Record<LabelName, string | null>>>;

/** How statsd keeps a value. Timers are in milliseconds. */
export type StatsdType = 'gauge' | 'counter' | 'timer';

/** A metric as statsd gets it. */
export interface StatsdForm {
  /** Names with `<label>` where a value goes. Each is sent whose values are all known. */
  readonly names: readonly string[];
  /** One line is sent for each. */
  readonly types: readonly StatsdType[];
  /** When it is sent, in words. */
  readonly when: string;
}

/** A metric as Prometheus reads it. */
export interface PrometheusForm {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labels: readonly LabelName[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** One metric in both worlds; what it lacks it is not sent to. */
export interface MetricDefinition {
  /** What it says, for people. */
  readonly help: string;
  readonly statsd?: StatsdForm;
  readonly prometheus?: PrometheusForm;
}
