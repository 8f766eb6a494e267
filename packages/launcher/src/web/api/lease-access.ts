import { createHash, timingSafeEqual } from 'node:crypto';
import type { Config } from '@nodepool/core';
import type { ApiToken } from '@nodepool/core/config';
import type { Leases } from '@nodepool/core/launcher';
import { Allowance } from '@nodepool/core/service';
import { ApiError, authorize, type Caller, type Credentials } from '@nodepool/daemon';
import {
  isLocalOwner,
  type Clock,
  type JsonObject,
  type LeaseRights,
  type LeaseTokenRecord,
} from '@nodepool/zk-protocol';
import type { TokenTrust } from './token-trust.js';
import { matchesPattern } from './label-pattern.js';

/** Calls that a token may make. */
const CALLS = { most: 1_000, perSecond: 500 };

/** Who calls an operation on leases, and what they may do. */
export interface LeaseCaller extends Caller, LeaseRights {
  /** Version of the token's record; `undefined`: the token is not stored in ZooKeeper. */
  readonly tokenVersion: number | undefined;
  /** The token itself, as a digest: its name may be given to another one later. Of callers without a token, who they are. */
  readonly identity: string;
  /** Whether the token is one of `api-tokens`. */
  readonly isOperator: boolean;
}

/** Converts what a caller may do to its form in the API. @param longestMs - limit for all leases; 0: none */
export function rightsToApi(caller: LeaseCaller, longestMs: number): JsonObject {
  const { name, owner, labels, maxTtlMs, maxNodes, highestPriority, tenantName, admin, isOperator } = caller;
  const ttlMs = Math.min(maxTtlMs, longestMs === 0 ? Infinity : longestMs);
  return {
    ...{ name, owner, labels: [...labels], max_ttl: Number.isFinite(ttlMs) ? ttlMs / 1000 : null },
    ...{ max_nodes: maxNodes, highest_priority: highestPriority, tenant_name: tenantName, admin, operator: isOperator },
  };
}

/** Where tokens come from. */
export interface LeaseAccessOptions {
  readonly clock: Clock;
  readonly leases: Pick<Leases, 'knowledge'> & {
    /** Tokens for leases, by name. */
    readonly tokens: { get(name: string): LeaseTokenRecord | undefined; readonly ready: boolean };
  };
  /** Knows which of them give rights. */
  readonly trust: Pick<TokenTrust, 'distrusts'>;
  /** Configuration in force: its `apiTokens` may do everything. */
  readonly config: () => Pick<Config, 'apiTokens'>;
}

const EVERYTHING = { labels: ['*'], maxTtlMs: Infinity, maxNodes: null, tenantName: null, highestPriority: 1 };
/** Of users of this computer, who need no token. */
const LOCAL = { ...EVERYTHING, highestPriority: 200, admin: false };

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** Finds out who calls, and limits how often each token may. */
export class LeaseAccess {
  readonly #options: LeaseAccessOptions;
  /** Calls by the name of the token. */
  readonly #calls = new Map<string, Allowance>();

  constructor(options: LeaseAccessOptions) {
    this.#options = options;
  }

  /** @throws ApiError 503 for an unknown token while not all are known, 401 for a missing, wrong, expired, revoked or unsigned token, 403 without any token, 429 too many calls */
  readonly callerOf = (credentials: Credentials): LeaseCaller => {
    const caller = this.#identify(credentials);
    if (!this.#admits(caller.name)) {
      throw new ApiError(429, 'too-fast', `Token "${caller.name}" calls more than ${CALLS.perSecond} times a second`);
    }
    return caller;
  };

  #identify({ authorization, localUser }: Credentials): LeaseCaller {
    const { leases, clock, trust } = this.#options;
    const { apiTokens } = this.#options.config();
    if (localUser !== undefined) {
      return { ...LOCAL, name: localUser, owner: localUser, identity: '', tokenVersion: undefined, isOperator: false };
    }
    const [, name = '', secret = ''] = /^Bearer +([a-z0-9-]+)\.(\S+)$/i.exec(authorization ?? '') ?? [];
    const token = leases.tokens.get(name);
    const expected = token ? Buffer.from(token.hash, 'hex') : sha256('');
    const isRight = expected.length === 32 && timingSafeEqual(sha256(secret), expected);
    const isValid =
      token !== undefined && !isLocalOwner(token.owner) && (token.endTimeMs === null || clock.now() < token.endTimeMs);
    const distrust = isRight && isValid ? trust.distrusts(token) : undefined;
    if (isRight && isValid && distrust === undefined) {
      return { ...token, identity: token.hash, tokenVersion: token.stat?.version, isOperator: false };
    }
    const owner = operatorOf(authorization, apiTokens);
    if (owner !== undefined) {
      const identity = sha256(authorization ?? '').toString('hex');
      return { ...EVERYTHING, name: owner, owner, identity, admin: true, tokenVersion: undefined, isOperator: true };
    }
    if (distrust !== undefined) throw new ApiError(401, 'token-not-signed', distrust);
    if (!leases.tokens.ready) throw notKnown(leases.knowledge);
    throw new ApiError(
      401,
      'bad-token',
      authorization === undefined
        ? 'No token was sent: send Authorization: Bearer TOKEN. An operator makes one with: nodepool token create NAME. ' +
            'Users of the computer of a launcher need none: nodepool asks its Unix socket'
        : 'The token is wrong, expired or revoked: an operator makes another with nodepool token create NAME',
    );
  }

  #admits(name: string): boolean {
    const calls = this.#calls.get(name) ?? new Allowance({ clock: this.#options.clock, ...CALLS });
    this.#calls.set(name, calls);
    if (calls.left < 1) return false;
    calls.spend(1);
    return true;
  }
}

/** The refusal of a launcher that does not know all leases and tokens. */
export function notKnown(knowledge: Leases['knowledge']): ApiError {
  if (knowledge === 'starting')
    return new ApiError(503, 'starting', 'This launcher is reading leases and tokens: repeat it soon');
  return new ApiError(
    503,
    'zookeeper',
    'This launcher is cut off from ZooKeeper: repeat it soon, or ask another launcher',
  );
}

/** The owner of a token of the secure file; `undefined`: it is none. */
function operatorOf(authorization: string | undefined, tokens: readonly ApiToken[]): string | undefined {
  try {
    return authorize(authorization, tokens);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Whether the rights cover a label. */
export function mayLease({ labels }: LeaseRights, label: string): boolean {
  return labels.some((pattern) => matchesPattern(label, pattern));
}
