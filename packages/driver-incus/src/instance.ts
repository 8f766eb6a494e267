import type { Instance, Resources } from '@nodepool/core';
import type { ApiInstance, ApiNetwork } from './api.js';
import { ATTEMPT_KEY, tagsOf } from './ownership.js';
import { cpusOf, gibOf, mibOf } from './sizes.js';

/** An instance in core's terms. Its external id is its name. */
export interface IncusInstance extends Instance {
  readonly status: string;
  /** Id of the call that created it; `undefined`: created by another program. */
  readonly attempt: string | undefined;
  readonly createdMs: number | undefined;
}

/** States in which an instance will not run without help. */
const BROKEN = new Set(['Stopped', 'Error', 'Frozen']);

/** States of instances that do not run and are not about to: of another program, of a server that restarted, or of one that is away. */
const ENDED = new Set([...BROKEN, 'Stopping', 'Freezing', 'Aborting']);

/** Translates an instance of the API. */
export function toInstance(shown: ApiInstance, cloud: string): IncusInstance {
  const { ipv4, ipv6 } = addressesOf(shown);
  const interfaceIp = ipv4 ?? ipv6;
  const location = shown.location ?? 'none';
  const created = Date.parse(shown.created_at ?? '');
  return {
    externalId: shown.name,
    ready: shown.status === 'Running' && interfaceIp !== null,
    deleted: false,
    unusable: ENDED.has(shown.status) ? `the server shows it as ${shown.status}` : undefined,
    status: shown.status,
    interfaceIp,
    publicIpv4: ipv4,
    publicIpv6: ipv6,
    privateIpv4: ipv4,
    privateIpv6: ipv6,
    metadata: tagsOf(shown),
    cloud,
    az: location === 'none' || location === '' ? null : location,
    resources: resourcesOf(shown),
    attempt: shown.config[ATTEMPT_KEY],
    createdMs: Number.isNaN(created) ? undefined : created,
  };
}

/** Whether an instance that was started does not run. */
export function isBroken({ status }: Pick<IncusInstance, 'status'>): boolean {
  return BROKEN.has(status);
}

/** Usage of the quota by the limits of an instance; what has no limit is not counted. */
function resourcesOf({ expanded_config, expanded_devices }: ApiInstance): Resources {
  const [config, devices] = [expanded_config ?? {}, expanded_devices ?? {}];
  const cores = cpusOf(config['limits.cpu']);
  const ram = mibOf(config['limits.memory']);
  const root = Object.values(devices).find(({ type, path }) => type === 'disk' && path === '/');
  const disk = gibOf(root?.['size']);
  return {
    instances: 1,
    ...(cores !== undefined && { cores }),
    ...(ram !== undefined && { ram }),
    ...(disk !== undefined && { 'disk-gb': disk }),
  };
}

/** The first global addresses on devices of the instance. Interfaces made inside, such as bridges, do not count. */
function addressesOf(shown: ApiInstance): { ipv4: string | null; ipv6: string | null } {
  const networks = Object.entries(shown.state?.network ?? {}).filter(([name, network]) =>
    isDevice(shown, name, network),
  );
  const all = networks.flatMap(([, { addresses }]) => addresses ?? []).filter(({ scope }) => scope === 'global');
  const first = (family: string) => all.find((one) => one.family === family)?.address ?? null;
  return { ipv4: first('inet'), ipv6: first('inet6') };
}

function isDevice(shown: ApiInstance, name: string, { hwaddr = '' }: ApiNetwork): boolean {
  const nics = Object.entries(shown.expanded_devices ?? {}).filter(([, { type }]) => type === 'nic');
  return nics.some(([key, device]) => {
    const known = device['hwaddr'] ?? shown.config[`volatile.${key}.hwaddr`];
    return known === undefined || known === '' ? (device['name'] ?? key) === name : known === hwaddr;
  });
}
