import type { LiveRoute, RouteTable } from './routes.js';

/** What is shown at `/metrics`. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** `/metrics` for Prometheus. */
export function createMetricsRoute(metrics: MetricsSource): RouteTable {
  const route: LiveRoute = {
    kind: 'live',
    answer: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.render() }),
  };
  return new Map([['/metrics', route]]);
}
