import type { JsonObject, TaskManager } from '@nodepool/core';
import { isNodepoolError, ProviderUnavailableError } from '@nodepool/core';
import type {
  ApiDisk,
  ApiInstance,
  ApiMachineType,
  ApiOperation,
  ApiPage,
  ApiQuota,
  ApiRegion,
  ApiScopes,
} from './api.js';
import { nameOf } from './api.js';
import type { Http, HttpCall, RefusedLogin } from './http.js';

/** The API calls of the driver. Rejects with the errors of `errors.ts`. */
export interface ComputeClient {
  /** Why Google refuses the login; `undefined` while calls succeed. */
  readonly refusal: RefusedLogin | undefined;
  /** @param requestId - a UUID: two inserts with the same one create one instance */
  insertInstance(zone: string, body: JsonObject, requestId: string, signal: AbortSignal): Promise<ApiOperation>;
  deleteInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation>;
  stopInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation>;
  startInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation>;
  /** Adds labels and keeps the others. */
  labelInstance(zone: string, name: string, labels: Labels, signal: AbortSignal): Promise<void>;
  labelDisk(zone: string, name: string, labels: Labels, signal: AbortSignal): Promise<void>;
  /** An instance with its metadata. */
  getInstance(zone: string, name: string, signal: AbortSignal): Promise<ApiInstance | undefined>;
  /** Instances without metadata, which may be large. */
  listInstances(zone: string, filter: string, signal: AbortSignal): Promise<ApiInstance[]>;
  /** Instances of all zones that answer. @param filter - default: none */
  listAllInstances(filter: string | undefined, signal: AbortSignal): Promise<OfAllZones<ApiInstance>>;
  /** Disks of all zones that answer. */
  listAllDisks(filter: string, signal: AbortSignal): Promise<OfAllZones<ApiDisk>>;
  deleteDisk(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<void>;
  /** One that Google has forgotten counts as ended: look at what it was about. */
  getOperation(zone: string, name: string, signal: AbortSignal): Promise<ApiOperation>;
  /**
   * Waits up to two minutes until the operation has ended, if the number of waiting calls permits.
   * @returns `undefined`: too many calls are waiting
   */
  waitForOperation(zone: string, name: string, signal: AbortSignal): Promise<ApiOperation | undefined>;
  /** Preemptions of the last two weeks, which is how long Google keeps them. */
  listPreemptions(zone: string, signal: AbortSignal): Promise<ApiOperation[]>;
  /** Host keys that the instance has published below `hostkeys/`, by key type; empty: none yet. */
  getHostKeys(zone: string, name: string, signal: AbortSignal): Promise<Record<string, string>>;
  /** Output of the first serial port. */
  getSerialPortOutput(zone: string, name: string, signal: AbortSignal): Promise<string | undefined>;
  /** URL of the newest image. @throws {NotFoundError} no such family, or no image in it */
  getImageOfFamily(project: string, family: string, signal: AbortSignal): Promise<string>;
  /** @throws {NotFoundError} the zone does not have it */
  getMachineType(zone: string, name: string, signal: AbortSignal): Promise<ApiMachineType>;
  getRegion(signal: AbortSignal): Promise<ApiRegion>;
  /** Quotas across all regions. */
  getProjectQuotas(signal: AbortSignal): Promise<readonly ApiQuota[]>;
  close(): Promise<void>;
}

/** Resources in all zones of a project. */
export interface OfAllZones<T> {
  readonly found: readonly T[];
  /** Zones that did not answer; their resources are missing. */
  readonly unreachable: ReadonlySet<string>;
}

type Labels = Readonly<Record<string, string>>;
type Tasks = Pick<TaskManager, 'call' | 'report' | 'now'>;

/** Options of a client. */
export interface ComputeClientOptions {
  readonly project: string;
  readonly region: string;
  readonly http: Http;
  /** Limits and counts writes. */
  readonly writes: Tasks;
  /** Limits and counts reads, so that no list waits behind a hundred inserts. Google also limits them separately. */
  readonly reads: Tasks;
}

const INTERFACES = 'networkIP,ipv6Address,accessConfigs/natIP,ipv6AccessConfigs/externalIpv6';
const INSTANCE = `name,zone,status,machineType,labels,scheduling/provisioningModel,networkInterfaces(${INTERFACES})`;
const OPERATION = 'name,status,operationType,targetLink,insertTime,error/errors(code,message),httpErrorStatusCode';
const DISK = 'name,zone,labels,users,type,sizeGb';
const QUOTAS = 'quotas(metric,limit,usage)';
/** Maximum concurrent long polls, as each occupies a connection. Beyond it, callers poll the list. */
const MAX_WAITS = 16;
/** The service answers within two minutes. */
const WAIT_TIMEOUT_MS = 130_000;

/** Creates a client for one project and region. */
export function createComputeClient(options: ComputeClientOptions): ComputeClient {
  return new RestClient(options);
}

class RestClient implements ComputeClient {
  readonly #http: Http;
  readonly #writes: Tasks;
  readonly #reads: Tasks;
  readonly #project: string;
  readonly #region: string;
  #waits = 0;

  constructor({ project, region, http, writes, reads }: ComputeClientOptions) {
    this.#http = http;
    this.#writes = writes;
    this.#reads = reads;
    this.#project = `projects/${encodeURIComponent(project)}`;
    this.#region = encodeURIComponent(region);
  }

  get refusal(): RefusedLogin | undefined {
    return this.#http.refusal;
  }

  insertInstance(zone: string, body: JsonObject, requestId: string, signal: AbortSignal): Promise<ApiOperation> {
    const query = { requestId, fields: OPERATION };
    return this.#call('instances.insert', { verb: 'POST', path: this.#path(zone, 'instances'), query, body }, signal);
  }

  deleteInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation> {
    const query = { requestId, fields: OPERATION };
    return this.#call('instances.delete', { verb: 'DELETE', path: this.#path(zone, 'instances', name), query }, signal);
  }

  stopInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#power('stop', this.#path(zone, 'instances', name), requestId, signal);
  }

  startInstance(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#power('start', this.#path(zone, 'instances', name), requestId, signal);
  }

  #power(verb: 'stop' | 'start', path: string, requestId: string, signal: AbortSignal): Promise<ApiOperation> {
    const query = { requestId, fields: OPERATION };
    return this.#call(`instances.${verb}`, { verb: 'POST', path: `${path}/${verb}`, query }, signal);
  }

  getInstance(zone: string, name: string, signal: AbortSignal): Promise<ApiInstance | undefined> {
    const path = this.#path(zone, 'instances', name);
    return unlessMissing(this.#get<ApiInstance>('instances.get', path, signal, `${INSTANCE},metadata/items`));
  }

  listInstances(zone: string, filter: string, signal: AbortSignal): Promise<ApiInstance[]> {
    return this.#list('instances', zone, INSTANCE, filter, signal);
  }

  listAllInstances(filter: string | undefined, signal: AbortSignal): Promise<OfAllZones<ApiInstance>> {
    return this.#aggregate('instances', INSTANCE, filter, signal);
  }

  listAllDisks(filter: string, signal: AbortSignal): Promise<OfAllZones<ApiDisk>> {
    return this.#aggregate('disks', DISK, filter, signal);
  }

  async deleteDisk(zone: string, name: string, requestId: string, signal: AbortSignal): Promise<void> {
    const query = { requestId, fields: OPERATION };
    await this.#call('disks.delete', { verb: 'DELETE', path: this.#path(zone, 'disks', name), query }, signal);
  }

  labelInstance(zone: string, name: string, labels: Labels, signal: AbortSignal): Promise<void> {
    return this.#label('instances', this.#path(zone, 'instances', name), labels, signal);
  }

  labelDisk(zone: string, name: string, labels: Labels, signal: AbortSignal): Promise<void> {
    return this.#label('disks', this.#path(zone, 'disks', name), labels, signal);
  }

  /** The fingerprint makes the call fail if the labels were changed since they were read. */
  async #label(kind: string, path: string, added: Labels, signal: AbortSignal): Promise<void> {
    const { labels, labelFingerprint = '' } = await this.#get<{ labels?: Labels; labelFingerprint?: string }>(
      `${kind}.get`,
      path,
      signal,
      'labels,labelFingerprint',
    );
    const call: HttpCall = {
      ...{ verb: 'POST', path: `${path}/setLabels`, query: { fields: OPERATION } },
      body: { labels: { ...labels, ...added }, labelFingerprint },
    };
    await this.#call(`${kind}.setLabels`, call, signal);
  }

  getOperation(zone: string, name: string, signal: AbortSignal): Promise<ApiOperation> {
    const path = this.#path(zone, 'operations', name);
    return unlessForgotten(name, this.#get('operations.get', path, signal, OPERATION));
  }

  async waitForOperation(zone: string, name: string, signal: AbortSignal): Promise<ApiOperation | undefined> {
    if (this.#waits >= MAX_WAITS) return undefined;
    const path = `${this.#path(zone, 'operations', name)}/wait`;
    const startedMs = this.#reads.now();
    this.#waits++;
    try {
      // Not rate-limited: it waits on the server and takes no turn from other calls.
      const call: HttpCall = { verb: 'POST', path, query: { fields: OPERATION }, timeoutMs: WAIT_TIMEOUT_MS };
      return await unlessForgotten(name, this.#http.call<ApiOperation>(call, signal));
    } finally {
      this.#waits--;
      this.#reads.report('operations.wait', this.#reads.now() - startedMs);
    }
  }

  listPreemptions(zone: string, signal: AbortSignal): Promise<ApiOperation[]> {
    return this.#list('operations', zone, OPERATION, 'operationType="compute.instances.preempted"', signal);
  }

  async getHostKeys(zone: string, name: string, signal: AbortSignal): Promise<Record<string, string>> {
    const path = `${this.#path(zone, 'instances', name)}/getGuestAttributes`;
    const query = { queryPath: 'hostkeys/', fields: 'queryValue/items(key,value)' };
    const asked = this.#call<GuestAttributes>('instances.getGuestAttributes', { verb: 'GET', path, query }, signal);
    const answer = await unlessMissing(asked);
    return Object.fromEntries((answer?.queryValue?.items ?? []).map(({ key, value }) => [key, value]));
  }

  async getSerialPortOutput(zone: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    const path = `${this.#path(zone, 'instances', name)}/serialPort`;
    const asked = this.#get<{ contents?: string }>('instances.getSerialPortOutput', path, signal, 'contents');
    return (await unlessMissing(asked))?.contents;
  }

  async getImageOfFamily(project: string, family: string, signal: AbortSignal): Promise<string> {
    const path = `projects/${encodeURIComponent(project)}/global/images/family/${encodeURIComponent(family)}`;
    return (await this.#get<{ selfLink: string }>('images.getFromFamily', path, signal, 'selfLink')).selfLink;
  }

  getMachineType(zone: string, name: string, signal: AbortSignal): Promise<ApiMachineType> {
    return this.#get('machineTypes.get', this.#path(zone, 'machineTypes', name), signal, 'guestCpus,memoryMb');
  }

  getRegion(signal: AbortSignal): Promise<ApiRegion> {
    return this.#get('regions.get', `${this.#project}/regions/${this.#region}`, signal, `zones,${QUOTAS}`);
  }

  async getProjectQuotas(signal: AbortSignal): Promise<readonly ApiQuota[]> {
    return (await this.#get<{ quotas?: ApiQuota[] }>('projects.get', this.#project, signal, QUOTAS)).quotas ?? [];
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #path(zone: string, kind: string, name?: string): string {
    const list = `${this.#project}/zones/${encodeURIComponent(zone)}/${kind}`;
    return name === undefined ? list : `${list}/${encodeURIComponent(name)}`;
  }

  #call<T>(name: string, call: HttpCall, signal: AbortSignal): Promise<T> {
    const lane = call.verb === 'GET' ? this.#reads : this.#writes;
    return lane.call(name, (paced) => this.#http.call<T>(call, paced), { signal });
  }

  #get<T>(name: string, path: string, signal: AbortSignal, fields: string): Promise<T> {
    return this.#call(name, { verb: 'GET', path, query: { fields } }, signal);
  }

  async #list<T>(kind: string, zone: string, fields: string, filter: string, signal: AbortSignal): Promise<T[]> {
    const query = { filter, fields: `nextPageToken,items(${fields})` };
    const pages = await this.#pages<ApiPage<T>>(`${kind}.list`, this.#path(zone, kind), query, signal);
    return pages.flatMap(({ items = [] }) => items);
  }

  /** Accepts partial answers, so that a failing zone does not hide the others. */
  async #aggregate<T, Kind extends 'instances' | 'disks' = 'instances' | 'disks'>(
    kind: Kind,
    fields: string,
    filter: string | undefined,
    signal: AbortSignal,
  ): Promise<OfAllZones<T>> {
    const mask = `nextPageToken,unreachables,items/*(${kind}(${fields}),warning/code)`;
    const query = { filter, returnPartialSuccess: 'true', fields: mask };
    const path = `${this.#project}/aggregated/${kind}`;
    type Page = ApiScopes<Partial<Record<Kind, readonly T[]>>>;
    const pages = await this.#pages<Page>(`${kind}.aggregatedList`, path, query, signal);
    const scopes = pages
      .flatMap(({ items = {} }) => Object.entries(items))
      .filter(([scope]) => scope.startsWith('zones/'));
    const silent = scopes.flatMap(([scope, { warning }]) => (warning?.code === 'UNREACHABLE' ? [scope] : []));
    const named = pages.flatMap(({ unreachables = [] }) =>
      unreachables.filter((path) => /(^|\/)zones\/[^/]+$/.test(path)),
    );
    return {
      found: scopes.flatMap(([, scope]) => scope[kind] ?? []),
      unreachable: new Set([...silent, ...named].map(nameOf)),
    };
  }

  async #pages<Page extends { readonly nextPageToken?: string }>(
    name: string,
    path: string,
    query: HttpCall['query'],
    signal: AbortSignal,
  ): Promise<Page[]> {
    const pages: Page[] = [];
    const seen = new Set<string>();
    for (let pageToken: string | undefined; ;) {
      const page: Page = await this.#call(name, { verb: 'GET', path, query: { ...query, pageToken } }, signal);
      pages.push(page);
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return pages;
      if (seen.has(pageToken)) {
        throw new ProviderUnavailableError(
          `GET ${path}: the list names page "${pageToken}" as the next page repeatedly`,
        );
      }
      seen.add(pageToken);
    }
  }
}

interface GuestAttributes {
  readonly queryValue?: { readonly items?: readonly { readonly key: string; readonly value: string }[] };
}

/** Operations are kept for a while only: a launch that another launcher began may ask too late. */
async function unlessForgotten(name: string, answer: Promise<ApiOperation>): Promise<ApiOperation> {
  return (await unlessMissing(answer)) ?? { name, status: 'DONE' };
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return undefined;
    throw error;
  }
}
