import { formatTemplate, templateProblem, type Json, type Logger, type RequestRecord } from '@nodepool/core';
import { labelValue } from './ownership.js';

const EXAMPLE = 'example';
/** What templates may use of a request, as in the original. */
const EXAMPLES = {
  id: EXAMPLE,
  labels: Array<Json>(100).fill(EXAMPLE),
  requestor: EXAMPLE,
  relative_priority: 1,
  event_id: EXAMPLE,
  created_time: 1.5,
  tenant_name: EXAMPLE,
};

/**
 * Fills templates such as `{request.tenant_name}` with values of the request, as Python's `str.format` does. Values that no label
 * can have are shortened to valid ones. Skips templates that cannot be filled, as the original does.
 */
export function fillLabels(
  templates: Readonly<Record<string, string>>,
  request: RequestRecord,
  logger: Logger,
): Record<string, string> {
  const values = {
    ...{ id: request.id, labels: [...request.labels], requestor: request.requestor },
    ...{ requestor_data: request.requestorData, relative_priority: request.relativePriority },
    ...{ event_id: request.eventId, tenant_name: request.tenantName },
    created_time: request.createdTimeMs === null ? null : request.createdTimeMs / 1_000,
  };
  const labels: Record<string, string> = {};
  for (const [key, template] of Object.entries(templates)) {
    try {
      labels[key] = labelValue(formatTemplate(template, { request: values }));
    } catch (error) {
      logger.warn('Skipping dynamic label: its template cannot be filled', { label: key, error });
    }
  }
  return labels;
}

/** Why a template can never be filled; `undefined`: it can. */
export function problemOfTemplate(template: string): string | undefined {
  const asked = [...template.matchAll(/requestor_data\[([^\]]+)\]/g)].map(([, key]) => [key, EXAMPLE]);
  // Requestors choose the content of requestor_data, so any field of it may exist.
  if (/requestor_data\[[^\]]*\][.[]/.test(template)) return undefined;
  const examples = { ...EXAMPLES, requestor_data: Object.fromEntries(asked) as Record<string, Json> };
  return templateProblem(template, { request: examples });
}
