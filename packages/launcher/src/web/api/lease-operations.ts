import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  isNodepoolError,
  isZooKeeperError,
  type JsonObject,
  type LeaseRecord,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import type { LeaseView } from '@nodepool/core/launcher';
import {
  connectionDetails,
  didYouMean,
  explanationToJson,
  knownHostsLines,
  kubeconfigOf,
  readPublicKey,
} from '@nodepool/core/service';
import type { LeaseAgeError } from '@nodepool/core/launcher';
import {
  ApiError,
  listOf,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  WHOLE,
  type ApiCall,
  type ApiOperation,
} from '@nodepool/daemon';
import { LEASE_RIGHTS_SCHEMA, LeaseAccess, mayLease, rightsToApi, type LeaseCaller } from './lease-access.js';
import { LeaseStreams } from './lease-streams.js';
import { providersWithoutKeys } from './label-keys.js';
import { waitingRequests } from './records.js';
import type { LeaseApiSources } from './sources.js';

const DEFAULT_TTL_S = 3_600;
const LONGEST_WAIT_S = 60;
const MOST_LABELS = 100;
const PRIORITY = 200;

/** Ten years: far below what a date can hold. */
const LONGEST_S = 315_360_000;

const SECONDS: JsonObject = { type: 'number', exclusiveMinimum: 0, maximum: LONGEST_S };
/** No control characters, and none with which text becomes markup. */
const NAME_PATTERN = String.raw`^[^\p{Cc}<>]+$`;
/** Line breaks are the only control characters. */
const TEXT_PATTERN = String.raw`^[\P{Cc}\n]*$`;
const WAIT: JsonObject = {
  ...{ type: 'number', minimum: 0, maximum: LONGEST_WAIT_S },
  description:
    'Answer when the lease does not wait any more, but after this time at the latest, seconds; default 0: at once',
};
const ID = { id: { type: 'string', description: 'Id of the lease' } };

/** Schemas of leases, by name. */
export const LEASE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  LeaseRights: LEASE_RIGHTS_SCHEMA,
  LeasedNode: record({
    ...{ id: TEXT, label: TEXT, host: orNull(TEXT), port: orNull(WHOLE), username: orNull(TEXT) },
    connection_type: { ...TEXT, description: 'ssh unless the label says otherwise' },
    known_hosts: { ...listOf(TEXT), description: 'Lines for a known_hosts file' },
    kubeconfig: { ...orNull(TEXT), description: 'A kubeconfig file for a node that kubectl reaches, with its token' },
    ...{ provider: orNull(TEXT), pool: orNull(TEXT), zone: orNull(TEXT), hostname: orNull(TEXT) },
    ...{ public_ipv4: orNull(TEXT), private_ipv4: orNull(TEXT), public_ipv6: orNull(TEXT) },
    ...{ cloud: orNull(TEXT), region: orNull(TEXT), host_id: orNull(TEXT), external_id: {} },
    ...{ python_path: orNull(TEXT), shell_type: orNull(TEXT), attributes: {} },
    labels: { ...listOf(TEXT), description: 'All labels of the node' },
    interface_ip: { ...orNull(TEXT), description: 'The address that its provider prefers' },
    host_keys: { ...listOf(TEXT), description: 'Without the names of the host' },
    slot: { ...orNull(WHOLE), description: 'Of a machine with several nodes' },
  }),
  Lease: record({
    id: TEXT,
    state: {
      ...{ type: 'string', enum: ['waiting', 'active', 'ended', 'failed'] },
      description:
        'waiting for nodes; active: they are yours; ended: returned, expired or lost; failed: no pool can serve it',
    },
    ...{ owner: TEXT, labels: listOf(TEXT), reason: TEXT, priority: WHOLE, tenant_name: orNull(TEXT) },
    ...{ created_time: TIME, state_time: TIME },
    ttl: { type: 'number', description: 'Time to live once it is active, seconds' },
    expires: orNull({ ...TIME, description: 'When an active lease ends: it expires, or max-hold-age ends it' }),
    gives_up: orNull({ ...TIME, description: 'When a waiting lease ends unserved; null: never' }),
    nodes: { ...listOf(ref('LeasedNode')), description: 'Of an active lease' },
    request: orNull({ ...TEXT, description: 'Id of the request of a waiting lease' }),
    end_reason: orNull({ ...TEXT, description: 'Why it ended or failed' }),
  }),
  WaitingLease: {
    type: 'object',
    description: 'A lease; while it waits, with its position in the queue and the explanation of each pool',
    required: ['id', 'state'],
    properties: {
      position: orNull({ ...WHOLE, description: 'Number of requests ahead of it; null once it is accepted' }),
      explanation: ref('Explanation'),
    },
  },
};

const LEASE_BODY: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['labels'],
  properties: {
    labels: {
      ...{ type: 'array', minItems: 1, maxItems: MOST_LABELS, items: { type: 'string', minLength: 1, maxLength: 255 } },
      ...{ description: 'One node each', examples: [['small']] },
    },
    ttl: { ...SECONDS, description: `Time to live once it is active, seconds; default ${DEFAULT_TTL_S}` },
    give_up: { ...SECONDS, description: 'End it unserved after this time, seconds; default: wait without a limit' },
    owner: {
      ...{ type: 'string', maxLength: 255, pattern: NAME_PATTERN },
      description: 'Default: the owner of the token; another only with an admin token',
    },
    reason: { type: 'string', maxLength: 1_000, pattern: TEXT_PATTERN, description: 'For people' },
    ssh_key: {
      ...{
        type: 'string',
        examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo'],
      },
      description: 'Public key that may log in to the nodes during the lease, one line without options',
    },
    priority: { type: 'integer', minimum: 1, maximum: 999, description: '100 high, 200 normal (default), 300 low' },
    wait: WAIT,
  },
};

const FORBIDDEN = { 403: 'The token does not allow it' };
const NO_LEASE = { 404: 'There is no such lease, or it belongs to another owner' };

/** Operations on leases: nodes for anybody who has a token. In one piece: a table. */
export function leaseOperations(sources: LeaseApiSources): ApiOperation[] {
  const { runtime, clock, config } = sources;
  const access = new LeaseAccess({
    clock,
    leaseTokens: runtime.leases.tokens,
    apiTokens: () => config().apiTokens,
    allowsAnonymous: () => config().webapp.anonymousLeases === true,
  });
  const desk = new LeaseDesk(sources, new LeaseStreams(clock, runtime.leases));
  const common = { authorize: access.callerOf };
  const path = '/leases/{id}';
  return [
    {
      ...common,
      ...{ id: 'getLeaseRights', method: 'GET', path: '/lease-rights', summary: 'Owner and limits of the token' },
      ...{ answer: ref('LeaseRights') },
      handle: ({ caller }) => rightsToApi(caller as LeaseCaller, config().maxHoldAgeMs),
    },
    {
      ...common,
      ...{ id: 'createLease', method: 'POST', path: '/leases', summary: 'Request nodes', isIdempotent: true },
      ...{ body: LEASE_BODY, answer: ref('Lease'), errors: { ...FORBIDDEN, 422: 'The body asks for the impossible' } },
      handle: (call) => desk.create(call),
    },
    {
      ...common,
      ...{ id: 'listLeases', method: 'GET', path: '/leases', summary: 'Own leases; with an admin token, all' },
      query: {
        owner: { type: 'string', description: 'Only of this owner' },
        state: { type: 'string', description: 'Only in this state' },
      },
      answer: listOf(ref('Lease')),
      handle: (call) => desk.list(call),
    },
    {
      ...common,
      ...{ id: 'getLease', method: 'GET', path, summary: 'One lease, and why it waits', pathParameters: ID },
      ...{ query: { wait: WAIT }, answer: { allOf: [ref('Lease'), ref('WaitingLease')] }, errors: NO_LEASE },
      handle: (call) => desk.get(call),
    },
    {
      ...common,
      ...{ id: 'renewLease', method: 'POST', path: `${path}/renew`, summary: 'Keep a lease for longer' },
      pathParameters: ID,
      body: {
        ...{ type: 'object', additionalProperties: false },
        properties: { ttl: { ...SECONDS, description: 'Seconds from now; default: its time to live' } },
      },
      ...{ answer: ref('Lease'), errors: { ...FORBIDDEN, ...NO_LEASE, 409: 'It is over' } },
      handle: (call) => desk.renew(call),
    },
    {
      ...common,
      ...{ id: 'endLease', method: 'DELETE', path, summary: 'Return the nodes', pathParameters: ID },
      query: {
        forget_key: {
          type: 'boolean',
          description:
            'Its SSH key is gone from its hosts, e.g. as they were reinstalled: lend them again; with an admin token',
        },
      },
      ...{ answer: ref('Lease'), errors: { ...FORBIDDEN, ...NO_LEASE } },
      handle: (call) => desk.end(call),
    },
    {
      ...common,
      ...{ id: 'streamLease', method: 'GET', path: `${path}/events`, summary: 'Changes of a lease, until it is over' },
      ...{ pathParameters: ID, answer: TEXT, errors: { ...NO_LEASE, 503: 'Too many streams are open' } },
      handle: (call) => desk.get(call),
      stream: (call, response) => desk.stream(call, response),
    },
  ];
}

/** Converts a lease to its form in the API. */
function leaseToApi({ lease, nodes, request, endMs }: LeaseView): JsonObject {
  const { id, state, owner, labels, reason, priority, tenantName, createdTimeMs, stateTimeMs, ttlMs } = lease;
  const due = endMs === undefined ? null : endMs / 1000;
  return {
    ...{ id, state, owner, labels: [...labels], reason, priority, tenant_name: tenantName },
    ...{ created_time: createdTimeMs / 1000, state_time: stateTimeMs / 1000, ttl: ttlMs / 1000 },
    expires: state === 'active' ? due : null,
    gives_up: state === 'waiting' ? due : null,
    nodes: nodes.map((node) => nodeToApi(node, labels[lease.nodeIds.indexOf(node.id)] ?? '')),
    ...{ request: request?.id ?? null, end_reason: lease.endReason },
  };
}

function nodeToApi(node: NodeRecord, label: string): JsonObject {
  const { address, port, username, connectionType } = connectionDetails(node);
  return {
    ...{ id: node.id, label, host: address ?? null, port: port ?? null, username, connection_type: connectionType },
    ...{ known_hosts: knownHostsLines(node), provider: node.provider, pool: node.pool, zone: node.az },
    ...{ hostname: node.hostname, public_ipv4: node.publicIpv4, private_ipv4: node.privateIpv4 },
    ...{ public_ipv6: node.publicIpv6, python_path: node.pythonPath, shell_type: node.shellType },
    ...{ attributes: node.attributes, labels: [...node.labels], host_keys: [...node.hostKeys] },
    ...{ interface_ip: node.interfaceIp, cloud: node.cloud, region: node.region, host_id: node.hostId },
    ...{ external_id: node.externalId, slot: node.slot, kubeconfig: kubeconfigOf(node) ?? null },
  };
}

/** The body of a new lease, checked against its schema. */
interface LeaseBody {
  readonly labels: readonly string[];
  readonly ttl?: number;
  readonly give_up?: number;
  readonly owner?: string;
  readonly reason?: string;
  readonly ssh_key?: string;
  readonly priority?: number;
  readonly wait?: number;
}

/** Answers questions about leases. */
class LeaseDesk {
  constructor(
    private readonly sources: LeaseApiSources,
    private readonly streams: LeaseStreams,
  ) {}

  async create({ body, caller, idempotencyKey }: ApiCall): Promise<JsonObject> {
    const { wait = 0, ...wanted } = body as unknown as LeaseBody;
    const who = caller as LeaseCaller;
    const { labels, ttl = DEFAULT_TTL_S, priority = PRIORITY, reason = '', owner = who.owner } = wanted;
    this.#checkWanted(who, { ...wanted, ttl, priority, owner });
    const sshKey = wanted.ssh_key === undefined ? null : this.#readKey(wanted.ssh_key, labels);
    const digest = createHash('sha256').update(JSON.stringify(wanted)).digest('hex');
    const lease = await this.#write(() =>
      this.#leases.request({
        ...{ id: leaseId(who, idempotencyKey), owner, token: who.name, labels, priority, reason, digest },
        ...{ ttlMs: ttl * 1000, tenantName: who.tenantName, sshKey },
        giveUpMs: wanted.give_up === undefined ? null : wanted.give_up * 1000,
        ...{ maxNodes: who.maxNodes, tokenVersion: who.tokenVersion },
      }),
    );
    if (lease.digest !== digest) {
      const text = 'This Idempotency-Key was used for another lease: use a new random key for each lease';
      throw new ApiError(422, 'key-reused', text);
    }
    await this.streams.whenServed(lease, wait * 1000);
    return this.#describe(lease);
  }

  list({ caller, query: { owner, state } }: ApiCall): Promise<JsonObject[]> {
    const who = caller as LeaseCaller;
    if (!this.#leases.ready) throw this.#unknown('');
    const found = [...this.#leases.values()]
      .filter((lease) => who.admin || lease.owner === who.owner)
      .filter((lease) => owner === undefined || lease.owner === owner)
      .filter((lease) => state === undefined || lease.state === state);
    return Promise.all(found.map((lease) => this.#describe(lease)));
  }

  async get(call: ApiCall): Promise<JsonObject> {
    const lease = await this.#find(call);
    await this.streams.whenServed(lease, Number(call.query['wait'] ?? 0) * 1000);
    const now = this.#leases.get(lease.id) ?? lease;
    return { ...(await this.#describe(now)), ...this.#waiting(now) };
  }

  async renew(call: ApiCall): Promise<JsonObject> {
    const lease = await this.#find(call);
    const { ttl = lease.ttlMs / 1000 } = call.body as { ttl?: number };
    this.#checkTtl(call.caller as LeaseCaller, ttl);
    const renewed = await this.#write(() => this.#leases.renew(lease.id, ttl * 1000));
    if (renewed?.state === 'waiting' || renewed?.state === 'active') return this.#describe(renewed);
    throw new ApiError(409, 'over', `Lease ${lease.id} is over: ${renewed?.endReason ?? 'it was removed'}`);
  }

  async end(call: ApiCall): Promise<JsonObject> {
    const forgetsKey = String(call.query['forget_key']) === 'true';
    if (forgetsKey && !(call.caller as LeaseCaller).admin) {
      throw new ApiError(403, 'not-admin', 'forget_key needs an admin token: ask an operator, or leave it out');
    }
    const lease = await this.#find(call);
    const ended = await this.#write(() => this.#leases.end(lease.id, `returned by ${call.actor ?? 'its owner'}`));
    if (forgetsKey) await this.#write(() => this.#leases.forgetKey(lease.id));
    return this.#describe(ended ?? lease);
  }

  async stream(call: ApiCall, response: ServerResponse): Promise<void> {
    const { name } = call.caller as LeaseCaller;
    if (this.streams.open(await this.#find(call), name, response, (lease) => this.#describe(lease))) return;
    throw new ApiError(503, 'too-many-streams', `Token "${name}" has too many open streams, or all have: close some`);
  }

  get #leases() {
    return this.sources.runtime.leases;
  }

  async #describe({ id }: Pick<LeaseRecord, 'id'>): Promise<JsonObject> {
    const view = await this.#write(() => this.#leases.look(id));
    if (!view) throw this.#unknown(id);
    return leaseToApi(view);
  }

  #waiting(lease: LeaseRecord): JsonObject {
    const { runtime, conditions } = this.sources;
    const request = lease.state === 'waiting' ? this.#leases.requestOf(lease.id) : undefined;
    const explanation = request && runtime.explain({ requestId: request.id });
    if (!request || !explanation) return {};
    const place = waitingRequests(runtime.requests.values()).findIndex(({ id }) => id === request.id);
    return { position: place < 0 ? null : place, explanation: explanationToJson(explanation, conditions.merged) };
  }

  /** @throws ApiError 404, also for the lease of another owner: ids are not to be found out by trying */
  async #find({ path: { id = '' }, caller }: ApiCall): Promise<LeaseRecord> {
    const who = caller as LeaseCaller;
    const lease = this.#leases.get(id) ?? (await this.#write(() => this.#leases.look(id)))?.lease;
    if (lease && (who.admin || lease.owner === who.owner)) return lease;
    throw this.#unknown(id);
  }

  /** A launcher that starts does not know all leases yet. */
  #unknown(id: string): ApiError {
    if (!this.#leases.ready)
      return new ApiError(503, 'starting', 'This launcher is reading the leases: repeat it soon');
    return new ApiError(404, 'unknown-lease', `There is no lease "${id}", or it belongs to another owner`);
  }

  #checkWanted(who: LeaseCaller, wanted: LeaseBody & { ttl: number; priority: number; owner: string }): void {
    const { labels, owner, priority } = wanted;
    if (owner !== who.owner && !who.admin) {
      throw new ApiError(403, 'wrong-owner', `Token "${who.name}" leases for "${who.owner}", not for "${owner}"`);
    }
    for (const label of labels) this.#checkLabel(who, label);
    if (priority < who.highestPriority) {
      const text = `Token "${who.name}" may have priority ${who.highestPriority} at best (smaller is higher), not ${priority}`;
      throw new ApiError(403, 'priority', text);
    }
    this.#checkTtl(who, wanted.ttl);
  }

  /** The answer names a time that `max-hold-age` allows too. */
  #checkTtl(who: LeaseCaller, ttl: number): void {
    if (ttl * 1000 <= who.maxTtlMs) return;
    const text = `Token "${who.name}" may keep a lease for ${who.maxTtlMs / 1000} s at a time, not for ${ttl} s`;
    const longestMs = Math.min(who.maxTtlMs, this.sources.config().maxHoldAgeMs || Infinity);
    throw new ApiError(403, 'ttl-too-long', text, { longest_ttl: longestMs / 1000 });
  }

  #checkLabel(who: LeaseCaller, label: string): void {
    if (!mayLease(who, label)) {
      const text = `Token "${who.name}" may not lease "${label}"; its labels: ${who.labels.join(', ')}`;
      throw new ApiError(403, 'label-not-allowed', text);
    }
    const known = new Set<string>();
    for (const { supportedLabels } of this.sources.runtime.components)
      for (const each of supportedLabels) known.add(each);
    if (known.has(label)) return;
    const allowed = [...known].filter((each) => mayLease(who, each));
    const text = `No launcher offers a label "${label}"${didYouMean(label, allowed) || '.'} Labels: ${allowed.join(', ')}`;
    throw new ApiError(422, 'unknown-label', text);
  }

  /** The key of a lessee, if there are nodes of all labels that take one. */
  #readKey(line: string, labels: readonly string[]): string {
    const { key, problem } = readPublicKey(line);
    if (key === undefined) throw new ApiError(422, 'bad-ssh-key', `ssh_key is no public key: ${problem}`);
    const without = providersWithoutKeys(this.sources.runtime.components);
    for (const label of labels) {
      const providers = without.get(label) ?? [];
      if (providers.length === 0) continue;
      const text = `Nodes of "${label}" take no SSH key: an operator has to set "lease-ssh-key" of ${providers.join(', ')}`;
      throw new ApiError(422, 'no-ssh-key', text);
    }
    return key;
  }

  async #write<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_LEASE_LIMIT')) throw new ApiError(403, 'too-many-nodes', error.message);
      if (isNodepoolError(error, 'NODEPOOL_LEASE_AGE')) {
        const longest = Math.max(0, Math.floor((error as LeaseAgeError).leftMs / 1000));
        throw new ApiError(422, 'max-hold-age', error.message, { longest_ttl: longest });
      }
      if (isZooKeeperError(error)) {
        throw new ApiError(
          503,
          'zookeeper',
          `ZooKeeper did not answer (${error.code}): repeat it with the same Idempotency-Key`,
        );
      }
      if (error instanceof Error && error.name === 'Refusal') {
        throw new ApiError(409, 'changed', 'The lease or its token was changed meanwhile: repeat it');
      }
      throw error;
    }
  }
}

/** The same for the same token and key, so that a repetition finds the lease. */
function leaseId({ name }: LeaseCaller, key: string | undefined): string {
  if (key === undefined || key === '') return randomBytes(16).toString('hex');
  return createHash('sha256').update(`${name}\0${key}`).digest('hex').slice(0, 32);
}
