/** Dimension of a metric: a part of its statsd name, a label in Prometheus. */
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
  | 'phase'
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

/** Values of labels. `null` means unknown: names that need it are not sent. */
export type LabelValues = Readonly<Partial<Record<LabelName, string | null>>>;

/** Type of a value in statsd. Timers are in milliseconds. */
export type StatsdType = 'gauge' | 'counter' | 'timer';

/** Form of a metric in statsd. */
export interface StatsdForm {
  /** Names with `<label>` placeholders. A name is sent if all its values are known. */
  readonly names: readonly string[];
  /** One line is sent per type. */
  readonly types: readonly StatsdType[];
  /** When it is sent, in words. */
  readonly when: string;
}

/** Form of a metric in Prometheus. */
export interface PrometheusForm {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labels: readonly LabelName[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** One metric with its forms in statsd and Prometheus. A missing form is not exported. */
export interface MetricDefinition {
  /** Description for operators. */
  readonly help: string;
  readonly statsd?: StatsdForm;
  readonly prometheus?: PrometheusForm;
}
