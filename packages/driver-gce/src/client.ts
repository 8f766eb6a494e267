import type { EntryReader, JsonObject, TaskManager } from '@nodepool/core';
import { isNodepoolError, ProviderUnavailableError, SILENT_READER, type Json } from '@nodepool/core';
import { isMap } from '@nodepool/zk-protocol';
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
import { readDisk, readInstance, readOne, readQuota, readText } from './read-entries.js';

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
  /** Reports entries of lists that cannot be read. Default: they are not reported. */
  readonly entries?: Pick<EntryReader, 'readEach'> | undefined;
}

const INTERFACES = 'networkIP,ipv6Address,accessConfigs/natIP,ipv6AccessConfigs/externalIpv6';
const INSTANCE = `name,zone,status,machineType,labels,scheduling/provisioningModel,networkInterfaces(${INTERFACES})`;
const OPERATION = 'name,status,operationType,error/errors(code,message),httpErrorStatusCode';
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
  readonly #entries: Pick<EntryReader, 'readEach'>;
  readonly #project: string;
  readonly #region: string;
  #waits = 0;

  constructor({ project, region, http, writes, reads, entries = SILENT_READER }: ComputeClientOptions) {
    this.#http = http;
    this.#writes = writes;
    this.#reads = reads;
    this.#entries = entries;
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

  async getInstance(zone: string, name: string, signal: AbortSignal): Promise<ApiInstance | undefined> {
    const path = this.#path(zone, 'instances', name);
    const read = (answer: unknown) => readOne(`GET ${path}`, answer, readInstance);
    return unlessMissing(this.#get('instances.get', path, signal, `${INSTANCE},metadata/items`).then(read));
  }

  listInstances(zone: string, filter: string, signal: AbortSignal): Promise<ApiInstance[]> {
    return this.#list('instances', zone, { fields: INSTANCE, filter, read: readInstance }, signal);
  }

  listAllInstances(filter: string | undefined, signal: AbortSignal): Promise<OfAllZones<ApiInstance>> {
    return this.#aggregate('instances', { fields: INSTANCE, filter, read: readInstance }, signal);
  }

  listAllDisks(filter: string, signal: AbortSignal): Promise<OfAllZones<ApiDisk>> {
    return this.#aggregate('disks', { fields: DISK, filter, read: readDisk }, signal);
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

  async getHostKeys(zone: string, name: string, signal: AbortSignal): Promise<Record<string, string>> {
    const path = `${this.#path(zone, 'instances', name)}/getGuestAttributes`;
    const query = { queryPath: 'hostkeys/', fields: 'queryValue/items(key,value)' };
    const asked = this.#call<GuestAttributes>('instances.getGuestAttributes', { verb: 'GET', path, query }, signal);
    const answer = await unlessMissing(asked);
    return Object.fromEntries(
      (answer?.queryValue?.items ?? []).flatMap((item) => (item ? [[item.key, item.value]] : [])),
    );
  }

  async getSerialPortOutput(zone: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    const path = `${this.#path(zone, 'instances', name)}/serialPort`;
    const asked = this.#get<{ contents?: string }>('instances.getSerialPortOutput', path, signal, 'contents');
    return (await unlessMissing(asked))?.contents;
  }

  async getImageOfFamily(project: string, family: string, signal: AbortSignal): Promise<string> {
    const path = `projects/${encodeURIComponent(project)}/global/images/family/${encodeURIComponent(family)}`;
    const image = await this.#get<{ selfLink?: string } | null>('images.getFromFamily', path, signal, 'selfLink');
    return readOne(`GET ${path}`, image?.selfLink, readText);
  }

  async getMachineType(zone: string, name: string, signal: AbortSignal): Promise<ApiMachineType> {
    const path = this.#path(zone, 'machineTypes', name);
    return readOne(`GET ${path}`, await this.#get('machineTypes.get', path, signal, 'guestCpus,memoryMb'), readType);
  }

  async getRegion(signal: AbortSignal): Promise<ApiRegion> {
    const path = `${this.#project}/regions/${this.#region}`;
    const { zones, quotas } = await this.#get<Partial<ApiRegion>>('regions.get', path, signal, `zones,${QUOTAS}`);
    return {
      zones: this.#entries.readEach({ kind: 'zones' }, readOne(`GET ${path}`, zones, readList), readText),
      quotas: this.#readQuotas('of the region', quotas),
    };
  }

  async getProjectQuotas(signal: AbortSignal): Promise<readonly ApiQuota[]> {
    const project = await this.#get<{ quotas?: unknown }>('projects.get', this.#project, signal, QUOTAS);
    return this.#readQuotas('of the project', project.quotas);
  }

  #readQuotas(part: string, quotas: unknown): ApiQuota[] {
    return this.#entries.readEach({ kind: 'quotas', part }, readList(quotas) ?? [], readQuota);
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

  async #list<T>(kind: string, zone: string, wanted: Wanted<T>, signal: AbortSignal): Promise<T[]> {
    const { fields, filter, read } = wanted;
    const query = { filter, fields: `nextPageToken,items(${fields})` };
    const pages = await this.#pages<ApiPage<unknown>>(`${kind}.list`, this.#path(zone, kind), query, signal);
    const items = pages.flatMap((page) => page.items ?? []);
    return this.#entries.readEach({ kind, part: zone }, items, read);
  }

  /** Accepts partial answers, so that a failing zone does not hide the others. */
  async #aggregate<T>(
    kind: 'instances' | 'disks',
    { fields, filter, read }: Wanted<T>,
    signal: AbortSignal,
  ): Promise<OfAllZones<T>> {
    const mask = `nextPageToken,unreachables,items/*(${kind}(${fields}),warning/code)`;
    const query = { filter, returnPartialSuccess: 'true', fields: mask };
    const path = `${this.#project}/aggregated/${kind}`;
    const pages = await this.#pages<ApiScopes<Scope | null>>(`${kind}.aggregatedList`, path, query, signal);
    const scopes = pages
      .flatMap(({ items = {} }) => Object.entries(items))
      .filter(([scope]) => scope.startsWith('zones/'));
    const isSilent = (scope: Scope | null) =>
      !scope || scope.warning?.code === 'UNREACHABLE' || !readList(scope[kind] ?? []);
    const silent = scopes.flatMap(([zone, scope]) => (isSilent(scope) ? [zone] : []));
    const named = pages.flatMap(({ unreachables = [] }) =>
      unreachables.filter((path) => typeof path === 'string' && /(^|\/)zones\/[^/]+$/.test(path)),
    );
    const shown = scopes.flatMap(([, scope]) => readList(scope?.[kind]) ?? []);
    return {
      found: this.#entries.readEach({ kind }, shown, read),
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

/** Entries of a list to ask for. */
interface Wanted<T> {
  readonly fields: string;
  readonly filter: string | undefined;
  readonly read: (entry: unknown) => T | undefined;
}

/** Resources of one zone in a list of all. */
interface Scope {
  readonly instances?: unknown;
  readonly disks?: unknown;
  readonly warning?: { readonly code?: string };
}

interface GuestAttributes {
  readonly queryValue?: {
    readonly items?: readonly ({ readonly key: string; readonly value: string } | null)[];
  };
}

function readList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as unknown[]) : undefined;
}

function readType(answer: unknown): ApiMachineType | undefined {
  const { guestCpus, memoryMb } = isMap(answer as Json) ? (answer as JsonObject) : {};
  return typeof guestCpus === 'number' && typeof memoryMb === 'number' ? { guestCpus, memoryMb } : undefined;
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
