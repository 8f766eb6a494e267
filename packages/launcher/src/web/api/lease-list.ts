import { LEASE_STATES, type Clock, type LeaseRecord } from '@nodepool/zk-protocol';
import { Allowance } from '@nodepool/core/service';
import { ApiError } from '@nodepool/daemon';
import type { LeaseCaller } from './lease-access.js';
import { requireState } from './parameters.js';

/** Most leases of a page, and how many are on one by default. */
export const LEASES_A_PAGE = { most: 500, default: 100 };
/** Leases that are not over, and all of them. */
const GROUPS = ['open', 'all'];
/** What a token may spend: each listed lease costs 1. */
const BUDGET = { most: 2_000, perSecond: 1_000 };
/** For looking for them. */
const CALL_COST = 20;
/** Explaining why a lease waits looks at all requests and pools. */
export const EXPLANATION_COST = 20;

/** Query of a list of leases. */
export interface LeaseQuery {
  readonly owner?: unknown;
  readonly state?: unknown;
  readonly limit?: unknown;
  readonly cursor?: string | number | boolean | undefined;
}

/** Where a page ends: the next one begins behind that lease, which may be forgotten by then. */
const cursorOf = ({ createdTimeMs, id }: LeaseRecord): string => `${createdTimeMs / 1000}:${id}`;

/** The place of a lease in lists: times as clients read them, so that none is rounded on the way. */
interface Place {
  readonly createdS: number;
  readonly id: string;
}

const placeOf = ({ createdTimeMs, id }: LeaseRecord): Place => ({ createdS: createdTimeMs / 1000, id });
const comparePlaces = (a: Place, b: Place) => a.createdS - b.createdS || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Chooses the leases of a page, and limits what each token may have listed and explained. */
export class LeaseList {
  readonly #clock: Clock;
  readonly #budgets = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The leases of one page, the oldest first.
   * @throws ApiError 400 for an unknown state or a wrong cursor, 429 if the token has had too many listed
   */
  page(all: Iterable<LeaseRecord>, who: LeaseCaller, query: LeaseQuery): { leases: LeaseRecord[]; next?: string } {
    const { owner, state = 'open', limit = LEASES_A_PAGE.default } = query;
    const known = [...all];
    requireState(state, [...LEASE_STATES, ...GROUPS], known);
    const after = readCursor(query.cursor);
    if (!this.spend(who.name, CALL_COST)) throw tooFast(who.name);
    const found = known
      .filter((lease) => (who.admin || lease.owner === who.owner) && (owner === undefined || lease.owner === owner))
      .filter((lease) => isIn(lease, state) && (!after || comparePlaces(placeOf(lease), after) > 0))
      .sort((a, b) => comparePlaces(placeOf(a), placeOf(b)));
    const leases = found.slice(0, Number(limit));
    const last = leases.at(-1);
    if (!this.spend(who.name, leases.length)) throw tooFast(who.name);
    return last && found.length > leases.length ? { leases, next: cursorOf(last) } : { leases };
  }

  /** Takes from the budget of a token. @returns whether it has had enough left; a large list may overdraw it */
  spend(token: string, cost: number): boolean {
    const budget = this.#budgets.get(token) ?? new Allowance({ clock: this.#clock, ...BUDGET });
    this.#budgets.set(token, budget);
    if (budget.left <= 0) return false;
    budget.spend(cost);
    return true;
  }
}

function isIn({ state }: LeaseRecord, wanted: unknown): boolean {
  if (wanted === 'open') return state === 'waiting' || state === 'active';
  return wanted === 'all' || state === wanted;
}

function readCursor(cursor: LeaseQuery['cursor']): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, seconds = '', id = ''] = /^(\d+(?:\.\d+)?):(.+)$/.exec(String(cursor)) ?? [];
  if (id !== '') return { createdS: Number(seconds), id };
  const text = `"${String(cursor)}" is no cursor: take that of the header Link of the page before, CREATED_TIME:ID of its last lease`;
  throw new ApiError(400, 'wrong-cursor', text);
}

function tooFast(token: string): ApiError {
  const text =
    `Token "${token}" has more than ${BUDGET.perSecond} leases a second listed: repeat it later, list only the states that ` +
    'you need, or follow single leases with their event streams';
  return new ApiError(429, 'too-fast', text);
}
