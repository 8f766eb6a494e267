import type { ConditionList } from '@nodepool/core/service';
import type { RouteTable, SharedRoute } from './routes.js';

/** Source of `/metrics`. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Metrics of a service. */
export interface ServiceMetrics extends MetricsSource {
  /** Adds a gauge of the conditions in the list. */
  showConditions(list: ConditionList): void;
  close(): Promise<void>;
}

/** `/metrics` for Prometheus. */
export function createMetricsRoute(metrics: MetricsSource): RouteTable {
  const route: SharedRoute = { kind: 'shared', contentType: metrics.contentType, text: () => metrics.render() };
  return new Map([['/metrics', route]]);
}
