import { formatTemplate, templateProblem, type Json, type RequestRecord } from '@nodepool/core';

/**
 * Fills a template like Python's `str.format`: `{request.id}`, `{request.requestor_data[node_request_id]}`,
 * `{request.requestor:>10}`. Known of the request: `id`, `labels`, `requestor`, `requestor_data`, `relative_priority`,
 * `event_id`, `created_time` and `tenant_name`.
 * @throws {Error} the template uses an unknown field or an unsupported format
 */
export function fillTemplate(template: string, request: RequestRecord): string {
  return formatTemplate(template, { request: valuesOf(request) });
}

/** Why a template can never be filled; `undefined`: it can. */
export function problemOfTemplate(template: string): string | undefined {
  const asked = [...template.matchAll(/requestor_data\[([^\]]+)\]/g)].map(([, key]) => [key, EXAMPLE]);
  // Requestors choose the content of requestor_data, so any field of it may exist.
  const isOpen = /requestor_data\[[^\]]*\][.[]/.test(template);
  const examples = { ...EXAMPLES, requestor_data: Object.fromEntries(asked) as Record<string, Json> };
  return isOpen ? undefined : templateProblem(template, { request: examples });
}

const EXAMPLE = 'example';
const EXAMPLES = {
  id: EXAMPLE,
  labels: Array<Json>(100).fill(EXAMPLE),
  requestor: EXAMPLE,
  relative_priority: 1,
  event_id: EXAMPLE,
  created_time: 1.5,
  tenant_name: EXAMPLE,
};

function valuesOf(request: RequestRecord): Record<string, Json> {
  return {
    id: request.id,
    labels: [...request.labels],
    requestor: request.requestor,
    requestor_data: request.requestorData,
    relative_priority: request.relativePriority,
    event_id: request.eventId,
    created_time: request.createdTimeMs === null ? null : request.createdTimeMs / 1_000,
    tenant_name: request.tenantName,
  };
}
