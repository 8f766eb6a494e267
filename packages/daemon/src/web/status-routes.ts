import type { LiveRoute, Route, RouteTable, SharedRoute } from './routes.js';

const TEXT = 'text/plain; charset=UTF-8';

/** Answer of `/healthz`. New members may be added. */
export interface HealthReport {
  /** `ok`, `starting`, `draining`, or `degraded` when something below needs attention. */
  readonly status: 'starting' | 'ok' | 'degraded' | 'draining';
  readonly [detail: string]: unknown;
}

/** Source of the status routes. */
export interface StatusSource {
  /** Names of parts that are not ready; empty when ready. */
  notReady(): readonly string[];
  health(): HealthReport;
}

/** `/ready` reports whether requests are served; `/healthz` reports details, with status 200 while the process runs. */
export function createStatusRoutes(source: StatusSource): RouteTable {
  const ready: LiveRoute = {
    kind: 'live',
    isPublic: true,
    answer() {
      const missing = source.notReady();
      if (missing.length === 0) return { status: 200, contentType: TEXT, body: 'OK' };
      return { status: 500, contentType: TEXT, body: `Not ready: ${missing.join(', ')}\n` };
    },
  };
  const health: SharedRoute = {
    kind: 'shared',
    contentType: 'application/json',
    text: () => `${JSON.stringify(source.health(), null, 2)}\n`,
  };
  return new Map<string, Route>([
    ['/ready', ready],
    ['/healthz', health],
  ]);
}
