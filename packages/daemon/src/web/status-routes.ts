import type { LiveRoute, RouteTable } from './routes.js';

const TEXT = 'text/plain; charset=UTF-8';

/** What `/healthz` shows; every member is for operators and may grow. */
export interface HealthReport {
  /** `ok`, `starting`, `draining`, or `degraded` when something below needs attention. */
  readonly status: 'starting' | 'ok' | 'degraded' | 'draining';
  readonly [detail: string]: unknown;
}

/** What the status routes ask the service. */
export interface StatusSource {
  /** What is not started yet; empty when ready. */
  notReady(): readonly string[];
  health(): HealthReport;
}

/** `/ready` says whether requests are served; `/healthz` says how the process is, and is 200 while it runs at all. */
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
  const health: LiveRoute = {
    kind: 'live',
    answer: () => ({
      status: 200,
      contentType: 'application/json',
      body: `${JSON.stringify(source.health(), null, 2)}\n`,
    }),
  };
  return new Map([
    ['/ready', ready],
    ['/healthz', health],
  ]);
}
