import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isNodepoolError, isZooKeeperError, type JsonObject, type LeaseRecord } from '@nodepool/zk-protocol';
import type { LeaseView } from '@nodepool/core/launcher';
import { didYouMean, explanationToJson, readPublicKey } from '@nodepool/core/service';
import type { LeaseAgeError, LeaseLimitError } from '@nodepool/core/launcher';
import { ApiError, type ApiCall } from '@nodepool/daemon';
import { mayLease, notKnown, type LeaseCaller } from './lease-access.js';
import { EXPLANATION_COST, LeaseList } from './lease-list.js';
import { DEFAULT_GIVE_UP_S, DEFAULT_TTL_S } from './lease-schemas.js';
import { leaseToApi } from './lease-to-api.js';
import type { LeaseStreams } from './lease-streams.js';
import { whyNotLent } from './not-lent.js';
import { waitingRequests } from './records.js';
import type { LeaseSources } from './sources.js';

const PRIORITY = 200;

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

/** What a token may be too weak for. */
type Wanted = Pick<LeaseRecord, 'labels' | 'priority'> & { readonly ttl: number };

/** Answers the calls about leases. */
export class LeaseCalls {
  readonly #list: LeaseList;

  constructor(
    private readonly sources: LeaseSources,
    private readonly streams: LeaseStreams,
  ) {
    this.#list = new LeaseList(sources.clock);
  }

  async create({ body, caller, idempotencyKey }: ApiCall): Promise<JsonObject> {
    const { wait = 0, ...wanted } = body as unknown as LeaseBody;
    const who = caller as LeaseCaller;
    const { owner = who.owner } = wanted;
    this.#checkOwner(who, owner);
    const digest = createHash('sha256').update(JSON.stringify(wanted)).digest('hex');
    const id = leaseId(who, idempotencyKey);
    const lease = this.#leases.get(id) ?? (await this.#request(who, { ...wanted, id, owner, digest }));
    if (lease.digest !== digest || lease.owner !== owner) {
      const text = 'This Idempotency-Key was used for another lease: use a new random key for each lease';
      throw new ApiError(422, 'key-reused', text);
    }
    await this.streams.whenServed(lease, wait * 1000);
    return this.#describe(lease);
  }

  /** @returns the lease of this id, if there is one, even if a new one is refused: the first request was allowed */
  async #request(
    who: LeaseCaller,
    wanted: LeaseBody & Pick<LeaseRecord, 'id' | 'owner' | 'digest'>,
  ): Promise<LeaseRecord> {
    const { id, owner, digest, labels, priority = PRIORITY, reason = '' } = wanted;
    const ttl = wanted.ttl ?? Math.min(DEFAULT_TTL_S, this.#longestMs(who) / 1000);
    let publicKey: string | null;
    try {
      this.#checkWanted(who, { labels, ttl, priority });
      publicKey = wanted.ssh_key === undefined ? null : this.#readKey(wanted.ssh_key, labels);
    } catch (refusal) {
      // another launcher may have written it a moment ago
      const view = await this.#write(() => this.#leases.look(id));
      if (!view) throw refusal;
      return view.lease;
    }
    return this.#write(() =>
      this.#leases.request({
        ...{ id, owner, token: who.name, labels, priority, reason, digest },
        ...{ ttlMs: ttl * 1000, tenantName: who.tenantName, publicKey },
        giveUpMs: (wanted.give_up ?? DEFAULT_GIVE_UP_S) * 1000,
        ...{ maxNodes: who.maxNodes, tokenVersion: who.tokenVersion },
      }),
    );
  }

  async list({ caller, query, next }: ApiCall): Promise<JsonObject[]> {
    this.#requireCurrent();
    await this.#write(() => this.#leases.refresh());
    const page = this.#list.page(this.#leases.values(), caller as LeaseCaller, query);
    if (page.next !== undefined) next?.(page.next);
    const views = await Promise.all(page.leases.map(({ id }) => this.#write(() => this.#leases.see(id))));
    const { components } = this.sources.runtime;
    return views.flatMap((view) => (view ? [leaseToApi(view, new Map(), components)] : [])); // a certificate costs a signature
  }

  async get(call: ApiCall): Promise<JsonObject> {
    const lease = await this.#find(call);
    await this.streams.whenServed(lease, Number(call.query['wait'] ?? 0) * 1000);
    const view = await this.#look(lease);
    return { ...(await this.#withCertificates(view)), ...this.#waiting(view, call.caller as LeaseCaller) };
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
    const lease = await this.#find(call);
    const ended = await this.#write(() => this.#leases.end(lease.id, `returned by ${call.actor ?? 'its owner'}`));
    return this.#describe(ended ?? lease);
  }

  async stream(call: ApiCall, response: ServerResponse): Promise<void> {
    const who = call.caller as LeaseCaller;
    this.#requireCurrent();
    // the lease as it is known here: each change of it comes
    const describe = async ({ id }: LeaseRecord) =>
      this.#withCertificates(this.#known(id, await this.#write(() => this.#leases.see(id))));
    if (this.streams.open(await this.#find(call), who, response, describe)) return;
    throw new ApiError(
      503,
      'too-many-streams',
      `Token "${who.name}" has too many open streams, or this lease, or all have: close some`,
    );
  }

  get #leases() {
    return this.sources.leases;
  }

  async #describe(lease: LeaseRecord): Promise<JsonObject> {
    return this.#withCertificates(await this.#look(lease));
  }

  /** As every write before the call has left it. */
  async #look({ id }: LeaseRecord): Promise<LeaseView> {
    return this.#known(id, await this.#write(() => this.#leases.look(id)));
  }

  async #withCertificates(view: LeaseView): Promise<JsonObject> {
    return leaseToApi(view, await this.sources.certificates.of(view), this.sources.runtime.components);
  }

  #known(id: string, view: LeaseView | undefined): LeaseView {
    if (view) return view;
    throw this.#unknown(id);
  }

  /** Left out for a token that has too many explained. */
  #waiting({ lease, request }: LeaseView, { name }: LeaseCaller): JsonObject {
    const { runtime, conditions } = this.sources;
    if (lease.state !== 'waiting' || !request || !this.#list.spend(name, EXPLANATION_COST)) return {};
    const explanation = runtime.explain({ requestId: request.id });
    if (!explanation) return {};
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

  /** What this launcher shows may be outdated while it starts, or is cut off from ZooKeeper. @throws ApiError 503 */
  #requireCurrent(): void {
    const { knowledge } = this.#leases;
    if (knowledge !== 'current') throw notKnown(knowledge);
  }

  #unknown(id: string): ApiError {
    const { knowledge } = this.#leases;
    if (knowledge === 'starting') return notKnown(knowledge);
    return new ApiError(404, 'unknown-lease', `There is no lease "${id}", or it belongs to another owner`);
  }

  #checkOwner(who: LeaseCaller, owner: string): void {
    if (owner === who.owner || who.admin) return;
    throw new ApiError(403, 'wrong-owner', `Token "${who.name}" leases for "${who.owner}", not for "${owner}"`);
  }

  #checkWanted(who: LeaseCaller, { labels, priority, ttl }: Wanted): void {
    for (const label of labels) this.#checkLabel(who, label);
    if (priority < who.highestPriority) {
      const text = `Token "${who.name}" may have priority ${who.highestPriority} at best (smaller is higher), not ${priority}`;
      throw new ApiError(403, 'priority', text);
    }
    this.#checkTtl(who, ttl);
  }

  /** Refuses what `max-hold-age` forbids in any case, too, where the token allows longer. */
  #checkTtl(who: LeaseCaller, ttl: number): void {
    if (ttl * 1000 <= who.maxTtlMs) return;
    const longestMs = this.#longestMs(who);
    const facts = { longest_ttl: longestMs / 1000 };
    if (longestMs < who.maxTtlMs) {
      const text = `max-hold-age of the configuration ends a lease after ${longestMs / 1000} s: ask for no more, not for ${ttl} s`;
      throw new ApiError(422, 'max-hold-age', text, facts);
    }
    const text = `Token "${who.name}" may keep a lease for ${longestMs / 1000} s at a time, not for ${ttl} s`;
    throw new ApiError(403, 'ttl-too-long', text, facts);
  }

  /** The longest time to live that token and configuration allow. */
  #longestMs({ maxTtlMs }: LeaseCaller): number {
    return Math.min(maxTtlMs, this.sources.config().maxHoldAgeMs || Infinity);
  }

  #checkLabel(who: LeaseCaller, label: string): void {
    if (!mayLease(who, label)) {
      const text = `Token "${who.name}" may not lease "${label}"; its labels: ${who.labels.join(', ')}`;
      throw new ApiError(403, 'label-not-allowed', text);
    }
    const { runtime } = this.sources;
    const [reason] = whyNotLent(runtime.components, label);
    if (reason !== undefined) throw new ApiError(422, 'not-lent', `"${label}" is not lent over HTTP: ${reason}`);
    if (!runtime.isUnknownLabel(label)) return;
    const known = new Set([...runtime.components].flatMap(({ supportedLabels }) => supportedLabels));
    const allowed = [...known].filter((each) => mayLease(who, each));
    const text = `No launcher offers a label "${label}"${didYouMean(label, allowed) || '.'} Labels: ${allowed.join(', ')}`;
    throw new ApiError(422, 'unknown-label', text);
  }

  /** The key of a lessee, if there are nodes of all labels that take one. Files of public keys end with a line break. */
  #readKey(line: string, labels: readonly string[]): string {
    const { key, problem } = readPublicKey(line.trimEnd());
    if (key === undefined) throw new ApiError(422, 'bad-ssh-key', `ssh_key is no public key: ${problem}`);
    const { certificates } = this.sources;
    if (!certificates.isOn) {
      const text =
        'This launcher signs no SSH certificates: an operator has to make a key with "nodepool ca create" and name it in "lease-ca-key"';
      throw new ApiError(422, 'no-ssh-key', text);
    }
    const without = certificates.providersWithout();
    for (const label of labels) {
      const providers = without.get(label) ?? [];
      if (providers.length === 0) continue;
      const text = `Nodes of "${label}" take no SSH key: an operator has to let the machines of ${providers.join(', ')} trust the key that "nodepool ca create" has made, and set "lease-certificates" there`;
      throw new ApiError(422, 'no-ssh-key', text);
    }
    return key;
  }

  async #write<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_LEASE_LIMIT')) throw limitRefusal(error as LeaseLimitError);
      if (isNodepoolError(error, 'NODEPOOL_LEASE_AGE')) {
        const longest = Math.max(0, Math.floor((error as LeaseAgeError).leftMs / 1000));
        throw new ApiError(422, 'max-hold-age', error.message, { longest_ttl: longest });
      }
      if (isNodepoolError(error, 'NODEPOOL_LEASE_NODES_LOST')) throw new ApiError(409, 'over', error.message);
      if (isNodepoolError(error, 'NODEPOOL_LEASE_UNREADABLE')) {
        throw new ApiError(503, 'unreadable-lease', error.message);
      }
      if (isZooKeeperError(error)) {
        throw new ApiError(
          503,
          'zookeeper',
          `ZooKeeper did not answer (${error.code}): repeat it, a POST with the same Idempotency-Key`,
        );
      }
      if (error instanceof Error && error.name === 'Refusal') {
        throw new ApiError(409, 'changed', 'The lease or its token was changed meanwhile: repeat it');
      }
      throw error;
    }
  }
}

/** Who repeats it soon is served when only nodes of ended leases are in the way. */
const limitRefusal = ({ isSoonFree, message }: LeaseLimitError): ApiError =>
  isSoonFree ? new ApiError(429, 'nodes-being-deleted', message) : new ApiError(403, 'too-many-nodes', message);

/** The same for the same owner, token and key, so that a repetition finds the lease. A new token of the same name is another one. */
export function leaseId({ owner, identity }: Pick<LeaseCaller, 'owner' | 'identity'>, key: string | undefined): string {
  if (key === undefined || key === '') return randomBytes(16).toString('hex');
  return createHash('sha256')
    .update(JSON.stringify([owner, identity, key]))
    .digest('hex')
    .slice(0, 32);
}
