import type { JsonObject } from '@nodepool/zk-protocol';
import { bootDiskOf } from './boot-disk.js';
import type { OperationError } from './cloud-state.js';
import { cpuQuotaOf, sizeOf } from './machine-types.js';
import type { FailureKind } from './options.js';

/** https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation#resource_availability */
const EXHAUSTED = 'ZONE_RESOURCE_POOL_EXHAUSTED';

/** State of the cloud that decides whether an insert succeeds. */
interface Capacity {
  readonly project: string;
  /** Out of stock: `zone/machine type`. */
  readonly exhausted: ReadonlySet<string>;
  readonly quotas: ReadonlyMap<string, number>;
  usage(metric: string): number;
}

/** A requested instance. */
interface Order {
  readonly zone: string;
  readonly machineType: string;
  readonly body: JsonObject;
  /** Requested failure. */
  readonly failure: FailureKind | undefined;
}

/**
 * Reason why an insert fails. The operation reports it, as in the real service.
 * https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation: codes and messages of stock and quota
 */
export function refusalOf(cloud: Capacity, { zone, machineType, body, failure }: Order): OperationError | undefined {
  if (failure === 'capacity') return stockOut(cloud, zone);
  const outOfStock = stockOutOf(cloud, { zone, machineType });
  if (outOfStock) return outOfStock;
  const exceeded = failure === 'quota' ? 'INSTANCES' : exceededQuota(cloud, machineType, body);
  if (exceeded !== undefined) {
    const limit = cloud.quotas.get(exceeded) ?? 0;
    const message = `Quota '${exceeded}' exceeded.  Limit: ${limit}.0 in region ${zone.slice(0, -2)}.`;
    return { code: 'QUOTA_EXCEEDED', message, httpStatus: 403 };
  }
  if (failure !== 'operation-error') return undefined;
  return { code: 'INTERNAL_ERROR', message: 'Internal error. Please try again or contact us.', httpStatus: 500 };
}

/** The reason why an instance cannot run in its zone, if it is out of stock. */
export function stockOutOf(
  cloud: Pick<Capacity, 'project' | 'exhausted'>,
  { zone, machineType }: Pick<Order, 'zone' | 'machineType'>,
): OperationError | undefined {
  return cloud.exhausted.has(`${zone}/${machineType}`) ? stockOut(cloud, zone) : undefined;
}

function stockOut({ project }: Pick<Capacity, 'project'>, zone: string): OperationError {
  const where = `The zone 'projects/${project}/zones/${zone}' does not have enough resources available`;
  const message = `${where} to fulfill the request.  Try a different zone, or try again later.`;
  return { code: EXHAUSTED, message, httpStatus: 503 };
}

/** https://cloud.google.com/compute/resource-usage */
function exceededQuota(cloud: Capacity, machineType: string, body: JsonObject): string | undefined {
  const isSpot = (body['scheduling'] as JsonObject | undefined)?.['provisioningModel'] === 'SPOT';
  const cpus = sizeOf(machineType)?.cpus ?? 0;
  const metric = cpuQuotaOf(machineType, isSpot, (one) => cloud.quotas.has(one));
  const needs: Record<string, number> = { INSTANCES: 1, CPUS_ALL_REGIONS: cpus, [metric]: cpus };
  const disk = bootDiskOf(body);
  needs[disk.type === 'pd-standard' ? 'DISKS_TOTAL_GB' : 'SSD_TOTAL_GB'] = disk.sizeGib;
  if (JSON.stringify(body).includes('ONE_TO_ONE_NAT')) needs['IN_USE_ADDRESSES'] = 1;
  return Object.entries(needs).find(
    ([name, need]) => cloud.usage(name) + need > (cloud.quotas.get(name) ?? Infinity),
  )?.[0];
}
