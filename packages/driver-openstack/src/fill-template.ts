import { formatTemplate, templateProblem, type Json, type RequestRecord } from '@nodepool/core';

/**
 * Fills a template as Python's `str.format` does: `{request.id}`, `{request.requestor_data[node_request_id]}`,
 * `{request.requestor:>10}`. Known of the request: `id`, `labels`, `requestor`, `requestor_data`, `relative_priority`,
 * `event_id`, `created_time` and `tenant_name`.
 * @throws {Error} the template asks for something that does not exist, or uses something that is not supported
 */
export function fillTemplate(template: string, request: RequestRecord): string {
  return formatTemplate(template, { request: valuesOf(request) });
}

/** What keeps a template from being filled for any request, in words; `undefined`: nothing. */
export function problemOfTemplate(template: string): string | undefined {
  const asked = [...template.matchAll(/requestor_data\[([^\]]+)\]/g)].map(([, key]) => [key, EXAMPLE]);
  // what a requestor writes is its own matter, so everything below it is taken for there
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
