import type { ConditionList } from '@nodepool/core/service';
import type { LiveRoute, RouteTable } from './routes.js';

/** What is shown at `/metrics`. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Metrics that a service shows and closes. */
export interface ServiceMetrics extends MetricsSource {
  /** Has them tell of the conditions in the list, as they are then. */
  showConditions(list: ConditionList): void;
  close(): Promise<void>;
}

/** `/metrics` for Prometheus. */
export function createMetricsRoute(metrics: MetricsSource): RouteTable {
  const route: LiveRoute = {
    kind: 'live',
    answer: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.render() }),
  };
  return new Map([['/metrics', route]]);
}
