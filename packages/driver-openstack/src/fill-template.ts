import type { Json } from '@nodepool/zk-protocol';
import type { RequestRecord } from '@nodepool/core';

/**
 * Fills a template as Python's `str.format` does: `{request.id}`, `{request.requestor_data[node_request_id]}`; `{{` and
 * `}}` stand for braces. Known of the request: `id`, `labels`, `requestor`, `requestor_data`, `relative_priority`,
 * `event_id`, `created_time` and `tenant_name`.
 * @throws {Error} something that is not there is asked for, or a brace is not closed
 */
export function fillTemplate(template: string, request: RequestRecord): string {
  const values = valuesOf(request);
  const text = template.replaceAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (match, expression: string | undefined) => {
    if (match === '{{' || match === '}}') return match.charAt(0);
    if (expression === undefined) throw new Error(`"${template}" has a brace without its other half`);
    return pythonText(lookUp(expression, { request: values }));
  });
  return text;
}

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

/** E.g. `request.requestor_data[tenant]`. */
function lookUp(expression: string, root: Json): Json {
  const path = [...expression.matchAll(/(?:^|\.)([A-Za-z_]\w*)|\[([^\]]*)\]/g)];
  const isWhole = path.map(([part]) => part).join('') === expression && path.length > 0;
  if (!isWhole) throw new Error(`"{${expression}}" cannot be understood: write e.g. {request.id}`);
  let value: Json | undefined = root;
  for (const [, name, index] of path) value = member(value, name ?? index ?? '');
  if (value === undefined) throw new Error(`"{${expression}}" does not exist`);
  return value;
}

function member(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** As Python writes values into texts. */
function pythonText(value: Json, isInner = false): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return isInner ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : value;
  if (Array.isArray(value)) return `[${value.map((item) => pythonText(item, true)).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, item]) => `'${key}': ${pythonText(item, true)}`)
      .join(', ')}}`;
  }
  return String(value);
}
