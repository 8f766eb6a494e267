import type { Config } from '@nodepool/core';
import { leasesOf, type Launcher } from '@nodepool/core/launcher';
import type { ApiCall, ApiOperation } from '@nodepool/daemon';
import { LeaseCertificates, leaseOperations, TokenTrust } from '@nodepool/launcher';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { SimulatedProcess } from '../world/process.js';

/** A lease as the web API answers it. */
export interface LeaseAnswer {
  readonly id: string;
  readonly state: string;
  readonly created_time: number;
  readonly gives_up: number | null;
  readonly nodes: readonly { readonly id: string }[];
}

type Parts = Partial<Pick<ApiCall, 'path' | 'query' | 'body' | 'idempotencyKey'>>;

/** The operations on leases of one launcher, as its web server calls them: tokens, keys and refusals are theirs, HTTP is not. */
export class LeaseApi {
  /** None if the launcher has no leases. */
  readonly #operations: ReadonlyMap<string, ApiOperation> = new Map();
  /** The connection to ZooKeeper that the launcher believes to have: another object after each change of it. */
  connection: { readonly isMade: boolean };

  /** @param config - the configuration in force */
  constructor({ zk, clock, logger, name }: SimulatedProcess, launcher: Launcher, config: () => Config) {
    const connectionOf = (state: string) => ({ isMade: state === 'CONNECTED' });
    this.connection = connectionOf(zk.state);
    zk.onState((state) => (this.connection = connectionOf(state)));
    const leases = leasesOf(launcher);
    if (!leases) return;
    const noKey = () => Promise.resolve(undefined);
    const trust = new TokenTrust({
      ...{ tokens: leases.tokens, config, ownTokenKey: noKey, clock, logger, hostname: name },
    });
    const certificates = new LeaseCertificates({
      ...{ leases, pools: () => launcher.components, config, logger, path: undefined },
    });
    const sources = { runtime: launcher, clock, config, conditions: { merged: [] }, leases, certificates, trust };
    this.#operations = new Map(leaseOperations(sources).map((operation) => [operation.id, operation]));
  }

  /** @throws ApiError */
  create(token: string, idempotencyKey: string, body: JsonObject): Promise<LeaseAnswer> {
    return this.#call<LeaseAnswer>('createLease', token, { body, idempotencyKey });
  }

  /** @param waitMs - the answer comes when it does not wait any more, or after this time @throws ApiError */
  get(token: string, id: string, waitMs = 0): Promise<LeaseAnswer> {
    return this.#call<LeaseAnswer>('getLease', token, {
      path: { id },
      query: waitMs > 0 ? { wait: waitMs / 1000 } : {},
    });
  }

  /** @throws ApiError */
  renew(token: string, id: string, ttlMs: number): Promise<LeaseAnswer> {
    return this.#call<LeaseAnswer>('renewLease', token, { path: { id }, body: { ttl: ttlMs / 1000 } });
  }

  /** @throws ApiError */
  end(token: string, id: string): Promise<LeaseAnswer> {
    return this.#call<LeaseAnswer>('endLease', token, { path: { id } });
  }

  /** @throws ApiError */
  list(token: string, state: string): Promise<readonly LeaseAnswer[]> {
    return this.#call<readonly LeaseAnswer[]>('listLeases', token, { query: { state } });
  }

  async #call<T>(name: string, token: string, { path = {}, query = {}, body = {}, idempotencyKey }: Parts): Promise<T> {
    const operation = this.#operations.get(name);
    if (!operation?.authorize) throw new Error(`there is no operation ${name}`);
    const caller = operation.authorize({
      ...{ authorization: `Bearer ${token}`, address: '192.0.2.1', localUser: undefined },
    });
    const answer = await operation.handle({ path, query, body, actor: caller.name, caller, idempotencyKey });
    return JSON.parse(JSON.stringify(answer)) as T;
  }
}
