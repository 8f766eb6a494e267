export type { MetricsOptions } from './metrics.js';
export { Metrics } from './metrics.js';
export type { StatsdTarget } from './statsd/statsd.js';
export type { LabelName, LabelValues, MetricDefinition, PrometheusForm } from './definition.js';
export type { StatsdForm, StatsdType } from './definition.js';
export { METRICS } from './table.js';
export type { MetricKey, PrometheusKey, StatsdKey } from './table.js';
export type * from './types.js';
