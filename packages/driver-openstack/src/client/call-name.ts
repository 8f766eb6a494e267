import type { ServiceName } from './clouds/types.js';

/** Names of services in metrics, as in openstacksdk. */
const SERVICE_NAMES: Readonly<Record<ServiceName, string>> = {
  identity: 'identity',
  compute: 'compute',
  image: 'image',
  network: 'network',
  volume: 'block-storage',
};

const VERSION = /^v\d+(\.\d+)*$/;
const ID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/**
 * Name of a call in metrics, e.g. `compute.GET.servers_detail`, `compute.DELETE.server`: the parts of the path without
 * versions and ids. A part before an id becomes singular.
 * @param path - as it was called, with or without a query
 */
export function callName(service: ServiceName, method: string, path: string): string {
  const parts = (path.split('?', 1)[0] ?? '')
    .replace(/\.json$/, '')
    .split('/')
    .filter((part) => part !== '');
  const names: string[] = [];
  for (const [i, part] of parts.entries()) {
    if (i === 0 && VERSION.test(part)) continue;
    if (ID.test(part) || (i > 0 && isResourceId(part, parts[i - 1]))) {
      const last = names.pop();
      if (last !== undefined) names.push(singular(last));
    } else names.push(part.toLowerCase().replaceAll(/[^a-z0-9-]/g, '_'));
  }
  return [SERVICE_NAMES[service], method, names.join('_') || 'discovery'].join('.');
}

/** Resources whose ids need not be UUIDs: flavors and key pairs may have any name. */
function isResourceId(part: string, before: string | undefined): boolean {
  if (part === 'detail') return false;
  return before === 'flavors' || before === 'os-keypairs' || /^\d+$/.test(part);
}

function singular(name: string): string {
  return name.endsWith('s') ? name.slice(0, -1) : name;
}
