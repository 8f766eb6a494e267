import type { Logger } from '../../contract/logger.js';
import type { HealthReport } from '../../launcher/plan/steering.js';

/** The health of a provider, as far as it is logged. */
export interface LoggedHealth {
  readonly provider: HealthReport;
  readonly speed: HealthReport;
  /** Labels that fail. */
  readonly labels: readonly { readonly label: string; readonly health: HealthReport }[];
}

/** Logs the health of a provider. Each line has its own error: a label may lack capacity in a healthy provider. */
export function logHealth(logger: Logger, provider: string, report: LoggedHealth, nowMs: number): void {
  const { provider: health, labels, speed } = report;
  if (health.state !== 'healthy')
    logger.warn('Provider fails; requests go to others', { provider, ...detailsOf(health, nowMs) });
  for (const { label, health: own } of labels) {
    const fields = { provider, label, ...detailsOf(own, nowMs) };
    logger.warn('Launches of a label fail in a provider; requests for it go to others', fields);
  }
  if (health.state !== 'healthy' || labels.length > 0) return;
  if (speed.state === 'healthy') logger.info('Provider is well again', { provider });
  else logger.warn('Provider is slow; others are asked first', { provider, error: speed.error });
}

function detailsOf({ state, failures, error, failedMs }: HealthReport, nowMs: number) {
  return { state, failures, error, ...(failedMs !== undefined && { errorAgeMs: nowMs - failedMs }) };
}
