import type { JsonObject } from '@nodepool/zk-protocol';
import type { CheckedRequest } from '../check/exchange-checker.js';
import { readFilter } from '../check/filter.js';
import { labelFingerprint, showDisk, showInstance, showOperation, showQuotas } from './answers.js';
import { ApiError, invalid, notFound } from './api-error.js';
import type { Cloud } from './cloud.js';
import type { StoredOperation } from './cloud-state.js';
import { describeMachineType, SOME_MACHINE_TYPES, sizeOf } from './machine-types.js';
import type { FailureKind } from './options.js';

/** Dependencies of a method. */
export interface MethodContext {
  readonly cloud: Cloud;
  /** Failure that this insert runs into, if any. */
  readonly failure: FailureKind | undefined;
  /** Makes lists ignore filters. */
  readonly ignoresFilters: boolean;
  /** Makes every page of a list name the same next page. */
  readonly repeatsPages: boolean;
  readonly pageSize: number | undefined;
  /** Resolves when the operation has ended or the long poll times out. */
  readonly waitFor: (operation: StoredOperation) => Promise<void>;
}

type Method = (request: CheckedRequest, context: MethodContext) => JsonObject | Promise<JsonObject>;

/** https://cloud.google.com/compute/docs/reference/rest/v1/instances/list: 0 to 500, default 500 */
const PAGE = 500;
/** RFC 4122, and not all zeros; https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert, `requestId` */
const UUID = /^(?!0{8}-0{4})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Implementations of methods, by name in the description. */
export const METHODS: Readonly<Record<string, Method>> = {
  'Instances.Insert': (request, { cloud, failure }) =>
    once(request, cloud, () => cloud.insert(zoneOf(request, cloud), request.body ?? {}, failure)),
  'Instances.Delete': (request, { cloud }) =>
    once(request, cloud, () => cloud.delete(zoneOf(request, cloud), request.params['instance'] ?? '')),
  'Instances.Stop': (request, { cloud }) => once(request, cloud, () => cloud.power.stop(instanceOf(request, cloud))),
  'Instances.Start': (request, { cloud }) => once(request, cloud, () => cloud.power.start(instanceOf(request, cloud))),
  'Instances.Get': (request, { cloud }) => showInstance(instanceOf(request, cloud)),
  'Instances.List': (request, context) => {
    const zone = zoneOf(request, context.cloud);
    const instances = [...context.cloud.state.instances.values()].filter((one) => one.zone === zone);
    return page('compute#instanceList', instances.map(showInstance), request, context);
  },
  'Instances.AggregatedList': (request, context) => {
    const { cloud } = context;
    checkProject(request, cloud);
    const instances = [...cloud.state.instances.values()].map((one) => [one.zone, showInstance(one)] as const);
    return aggregate('compute#instanceAggregatedList', 'instances', instances, request, context);
  },
  'Instances.SetLabels': (request, { cloud }) => {
    const { zone, name, shown } = instanceOf(request, cloud);
    shown['labels'] = newLabels(shown['labels'] as JsonObject | undefined, request);
    return showOperation(cloud, cloud.noteChange('setLabels', zone, name));
  },
  'Instances.GetGuestAttributes': (request, { cloud }) => getGuestAttributes(request, cloud),
  'Instances.GetSerialPortOutput': (request, { cloud }) => {
    const { name } = instanceOf(request, cloud);
    return { kind: 'compute#serialPortOutput', contents: `${name} login: `, start: '0', next: '7' };
  },
  'Disks.AggregatedList': (request, context) => {
    const { cloud } = context;
    checkProject(request, cloud);
    const disks = [...cloud.state.disks.values()].map((disk) => [disk.zone, showDisk(cloud, disk)] as const);
    return aggregate('compute#diskAggregatedList', 'disks', disks, request, context);
  },
  'Disks.Get': (request, { cloud }) => showDisk(cloud, diskOf(request, cloud, 'disk')),
  'Disks.SetLabels': (request, { cloud }) => {
    const disk = diskOf(request, cloud, 'resource');
    disk.labels = newLabels(disk.labels, request);
    return showOperation(cloud, cloud.noteChange('setLabels', disk.zone, disk.name));
  },
  'Disks.Delete': (request, { cloud }) =>
    once(request, cloud, () => cloud.deleteDisk(zoneOf(request, cloud), request.params['disk'] ?? '')),
  'ZoneOperations.Get': (request, { cloud }) => showOperation(cloud, operationOf(request, cloud)),
  'ZoneOperations.Wait': async (request, { cloud, waitFor }) => {
    const operation = operationOf(request, cloud);
    await waitFor(operation);
    return showOperation(cloud, operation);
  },
  'ZoneOperations.List': (request, context) => {
    const { cloud } = context;
    const zone = zoneOf(request, cloud);
    const operations = [...cloud.state.operations.values()].filter((one) => one.zone === zone);
    return page(
      'compute#operationList',
      operations.map((one) => showOperation(cloud, one)),
      request,
      context,
    );
  },
  'Images.GetFromFamily': ({ params }, { cloud }) => {
    const path = `projects/${params['project']}/global/images/family/${params['family']}`;
    const name = cloud.state.families.get(`${params['project']}/${params['family']}`);
    if (name === undefined) throw notFound(path);
    const selfLink = `https://www.googleapis.com/compute/v1/projects/${params['project']}/global/images/${name}`;
    return { kind: 'compute#image', name, family: params['family'] ?? '', status: 'READY', diskSizeGb: '10', selfLink };
  },
  'Images.List': (request, context) => {
    const { project = '' } = request.params;
    const images = [...context.cloud.state.families].flatMap(([key, name]) => {
      const family = key.startsWith(`${project}/`) ? key.slice(project.length + 1) : undefined;
      return family === undefined ? [] : [{ kind: 'compute#image', name, family, status: 'READY', diskSizeGb: '10' }];
    });
    return page('compute#imageList', images, request, context);
  },
  'MachineTypes.List': (request, context) => {
    const zone = zoneOf(request, context.cloud);
    const types = SOME_MACHINE_TYPES.flatMap((name) => {
      const size = sizeOf(name);
      const url = context.cloud.url(`zones/${zone}/machineTypes/${name}`);
      return size && !context.cloud.futureTypes.has(name) ? [describeMachineType(url, name, size)] : [];
    });
    return page('compute#machineTypeList', types, request, context);
  },
  'Regions.List': (request, context) => {
    const { cloud } = context;
    checkProject(request, cloud);
    const regions = Object.entries(cloud.regions).map(([name, zones]) => ({
      kind: 'compute#region',
      name,
      status: 'UP',
      zones: zones.map((zone) => cloud.url(`zones/${zone}`)),
    }));
    return page('compute#regionList', regions, request, context);
  },
  'MachineTypes.Get': (request, { cloud }) => {
    const zone = zoneOf(request, cloud);
    const name = request.params['machine_type'] ?? '';
    const size = sizeOf(name);
    const path = `zones/${zone}/machineTypes/${name}`;
    if (!size || cloud.futureTypes.has(name)) throw notFound(`projects/${cloud.project}/${path}`);
    return describeMachineType(cloud.url(path), name, size);
  },
  'Regions.Get': (request, { cloud }) => {
    checkProject(request, cloud);
    const name = request.params['region'] ?? '';
    const zones = cloud.regions[name];
    if (!zones) throw notFound(`projects/${cloud.project}/regions/${name}`);
    const quotas = showQuotas(cloud, (metric) => metric !== 'CPUS_ALL_REGIONS');
    return {
      kind: 'compute#region',
      name,
      status: 'UP',
      zones: zones.map((zone) => cloud.url(`zones/${zone}`)),
      quotas,
    };
  },
  'Projects.Get': (request, { cloud }) => {
    checkProject(request, cloud);
    const quotas = showQuotas(cloud, (metric) => metric === 'CPUS_ALL_REGIONS');
    return { kind: 'compute#project', name: cloud.project, quotas };
  },
};

/**
 * Acts once per request id: a repeated call returns the operation of the first.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert, `requestId`
 */
function once({ query }: CheckedRequest, cloud: Cloud, act: () => StoredOperation): JsonObject {
  const id = query['requestId'];
  if (id === undefined) return showOperation(cloud, act());
  if (typeof id !== 'string' || !UUID.test(id)) throw invalid('requestId', `'${String(id)}' is not a valid UUID`);
  const known = cloud.state.requests.get(id);
  const operation = known ?? act();
  cloud.state.requests.set(id, operation);
  return showOperation(cloud, operation);
}

function checkProject({ params: { project } }: CheckedRequest, cloud: Cloud): void {
  if (project === cloud.project) return;
  throw new ApiError(403, 'forbidden', `Required permission for 'projects/${project}' is missing`);
}

function zoneOf(request: CheckedRequest, cloud: Cloud): string {
  checkProject(request, cloud);
  const { zone = '' } = request.params;
  if (cloud.unreachable.has(zone)) throw outOfOrder(zone);
  if (cloud.hasZone(zone)) return zone;
  throw new ApiError(400, 'invalid', `Invalid value for field 'zone': '${zone}'. Unknown zone.`);
}

/** https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-api-errors: 503 `backendError`, retryable. */
function outOfOrder(zone: string): ApiError {
  return new ApiError(503, 'backendError', `Backend Error: zone ${zone} does not answer`);
}

function instanceOf(request: CheckedRequest, cloud: Cloud) {
  const zone = zoneOf(request, cloud);
  const name = request.params['instance'] ?? '';
  const instance = cloud.state.instances.get(`${zone}/${name}`);
  if (instance) return instance;
  throw notFound(`projects/${cloud.project}/zones/${zone}/instances/${name}`);
}

function diskOf(request: CheckedRequest, cloud: Cloud, parameter: string) {
  const zone = zoneOf(request, cloud);
  const name = request.params[parameter] ?? '';
  const disk = cloud.state.disks.get(`${zone}/${name}`);
  if (disk) return disk;
  throw notFound(`projects/${cloud.project}/zones/${zone}/disks/${name}`);
}

/**
 * Replaces all labels if they have not changed since the client read them.
 * https://cloud.google.com/compute/docs/labeling-resources#labelFingerprint
 */
function newLabels(labels: JsonObject | undefined, { body = {} }: CheckedRequest): JsonObject {
  if (body['labelFingerprint'] !== labelFingerprint(labels)) {
    throw new ApiError(412, 'conditionNotMet', 'Labels fingerprint either invalid or resource labels have changed');
  }
  return (body['labels'] ?? {}) as JsonObject;
}

function operationOf(request: CheckedRequest, cloud: Cloud): StoredOperation {
  const zone = zoneOf(request, cloud);
  const name = request.params['operation'] ?? '';
  const operation = cloud.state.operations.get(`${zone}/${name}`);
  if (operation) return operation;
  throw notFound(`projects/${cloud.project}/zones/${zone}/operations/${name}`);
}

/** https://cloud.google.com/compute/docs/metadata/manage-guest-attributes: only if the metadata enables it. */
function getGuestAttributes(request: CheckedRequest, cloud: Cloud): JsonObject {
  const { shown, guestAttributes } = instanceOf(request, cloud);
  const { items = [] } = (shown['metadata'] ?? {}) as { items?: { key: string; value: string }[] };
  const isEnabled = items.some(({ key, value }) => key === 'enable-guest-attributes' && value.toUpperCase() === 'TRUE');
  if (!isEnabled) throw new ApiError(403, 'forbidden', 'Guest attributes endpoint access is disabled.');
  const queryPath = String(request.query['queryPath'] ?? '');
  const [namespace = ''] = queryPath.split('/');
  const found = Object.entries(guestAttributes).map(([key, value]) => ({ namespace, key, value }));
  if (found.length === 0) throw notFound(`projects/${cloud.project}/guestAttributes/${queryPath}`);
  return { kind: 'compute#guestAttributes', queryPath, queryValue: { items: found } };
}

function page(kind: string, all: readonly JsonObject[], request: CheckedRequest, context: MethodContext): JsonObject {
  const { found, nextPageToken } = onePage(all, (one) => one, request, context);
  return { kind, items: found, ...(nextPageToken !== undefined && { nextPageToken }) };
}

/**
 * One page of a list over all zones, grouped by zone. A zone without entries has a warning instead. An unreachable zone fails
 * the call unless the client accepts a partial result: then the zone is in `unreachables` and has the warning `UNREACHABLE`.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/aggregatedList
 */
function aggregate(
  kind: string,
  name: string,
  all: readonly (readonly [zone: string, shown: JsonObject])[],
  request: CheckedRequest,
  context: MethodContext,
): JsonObject {
  const { regions, unreachable } = context.cloud;
  const [silent] = unreachable;
  if (silent !== undefined && request.query['returnPartialSuccess'] !== true) throw outOfOrder(silent);
  const answered = all.filter(([zone]) => !unreachable.has(zone));
  const { found, nextPageToken } = onePage(answered, ([, shown]) => shown, request, context);
  const items = Object.values(regions)
    .flat()
    .map((zone): [string, JsonObject] => {
      const here = found.filter((one) => one[0] === zone).map(([, shown]) => shown);
      return [`zones/${zone}`, here.length > 0 ? { [name]: here } : { warning: warningOf(zone, unreachable) }];
    });
  return {
    kind,
    items: Object.fromEntries(items),
    ...(nextPageToken !== undefined && { nextPageToken }),
    ...(unreachable.size > 0 && { unreachables: Array.from(unreachable, (zone) => `zones/${zone}`) }),
  };
}

function warningOf(zone: string, unreachable: ReadonlySet<string>): JsonObject {
  if (unreachable.has(zone)) return { code: 'UNREACHABLE', message: `Scope 'zones/${zone}' cannot be reached.` };
  return { code: 'NO_RESULTS_ON_PAGE', message: `There are no results for scope 'zones/${zone}'.` };
}

function onePage<T>(
  all: readonly T[],
  shown: (one: T) => JsonObject,
  { query }: CheckedRequest,
  { ignoresFilters, repeatsPages, pageSize = PAGE }: MethodContext,
): { found: T[]; nextPageToken: string | undefined } {
  const { filter, maxResults = PAGE, pageToken = '' } = query;
  if (typeof maxResults !== 'number' || maxResults > PAGE) throw invalid('maxResults', `${maxResults}. It is 0 to 500`);
  const passes = typeof filter === 'string' && !ignoresFilters ? readFilter(filter) : () => true;
  const found = all.filter((one) => passes(shown(one)));
  const from = pageToken === '' ? 0 : Number(/^p(\d+)$/.exec(String(pageToken))?.[1]);
  if (Number.isNaN(from)) throw invalid('pageToken', `'${String(pageToken)}'`);
  const to = from + Math.min(maxResults, pageSize);
  if (repeatsPages) return { found: found.slice(0, maxResults), nextPageToken: 'p0' };
  return { found: found.slice(from, to), nextPageToken: to < found.length ? `p${to}` : undefined };
}
