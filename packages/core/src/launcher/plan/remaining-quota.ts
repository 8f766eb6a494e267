import type { Resources } from '@nodepool/zk-protocol';
import {
  accumulate,
  findOverrun,
  findShortage,
  subtractFromLimit,
  sumResources,
  type Shortage,
} from '../../contract/resources.js';
import { reason } from './candidates.js';
import { ceilingsOf, describeCeiling } from './controls.js';
import { useText } from './rules.js';
import { amountText } from './texts.js';
import type { PoolView, QuotaView, Reason, Reservation } from './types.js';

/** Why a node cannot be launched. */
export interface QuotaShortage {
  readonly reason: Reason;
  /** The pool has capacity for it, but the provider has not. */
  readonly isProviderShort: boolean;
  /** The limits are known. */
  readonly isKnown: boolean;
}

/** Remaining quota of one pool and its provider during a planning pass. */
export class RemainingQuota {
  readonly #view: PoolView;
  /** The quota at the start of the pass; the view computes it on each access. */
  readonly #quota: QuotaView;
  readonly #providerRest: Resources | undefined;
  readonly #poolRest: Resources;
  /** Free capacity at the start of the pass. */
  readonly #free: { readonly provider: Resources; readonly pool: Resources };
  /** Limits that existing nodes already exceed; they block every launch. */
  readonly #overrun: { readonly provider: Shortage | undefined; readonly pool: Shortage | undefined };

  constructor(view: PoolView) {
    this.#view = view;
    const { pool } = view;
    const quota = (this.#quota = view.quota);
    const limits = { instances: pool.maxServers, ...pool.maxResources };
    this.#poolRest = subtractFromLimit(limits, quota.poolUsed);
    this.#providerRest = this.#applyCeilings(
      quota.providerTotal && !pool.ignoreProviderQuota
        ? subtractFromLimit(quota.providerTotal, quota.providerUsed)
        : undefined,
    );
    this.#free = { provider: { ...this.#providerRest }, pool: { ...this.#poolRest } };
    this.#overrun = { provider: findOverrun(this.#free.provider), pool: findOverrun(this.#free.pool) };
  }

  /** Applies operators' orders that allow fewer nodes than configuration and cloud. @returns the provider's remaining capacity */
  #applyCeilings(providerRest: Resources | undefined): Resources | undefined {
    const quota = this.#quota;
    const { provider, pool } = ceilingsOf(this.#view);
    if (pool !== Infinity) lower(this.#poolRest, pool - (quota.poolUsed['instances'] ?? 0));
    if (provider === Infinity) return providerRest;
    const rest = providerRest ?? {};
    lower(rest, provider - (quota.providerUsed['instances'] ?? 0));
    return rest;
  }

  /** Resources that nodes of the labels need. */
  needOf(labels: readonly string[]): Resources {
    const { pool } = this.#view;
    return sumResources(labels.filter((label) => pool.labels.has(label)).map((label) => this.#quota.need(label)));
  }

  /** Reserves resources, for a request of another pool or launcher by default. */
  reserve({ need, isInPool = false }: Pick<Reservation, 'need' | 'isInPool'>): void {
    if (isInPool) accumulate(this.#poolRest, limitedBy(need, this.#poolRest), -1);
    if (this.#providerRest) accumulate(this.#providerRest, limitedBy(need, this.#providerRest), -1);
  }

  /**
   * Why no node of the label can be launched; `undefined`: it can.
   * @param launched - labels already launched for the same request
   */
  findShortage(label: string, launched: readonly string[]): QuotaShortage | undefined {
    const { pool } = this.#view;
    if (this.#quota.providerTotal === undefined && !pool.ignoreProviderQuota) {
      const unknown = this.#unknown(label);
      return { reason: unknown, isProviderShort: false, isKnown: false };
    }
    const total = this.needOf([...launched, label]);
    const overProvider = this.#providerRest && (findShortage(total, this.#providerRest) ?? this.#overrun.provider);
    const overPool = findShortage(total, this.#poolRest) ?? this.#overrun.pool;
    const over = overProvider ?? overPool;
    if (!over) return undefined;
    const asking = launched.length > 0 ? 'the request needs at least ' : `label "${label}" needs `;
    const why = this.#describe(over, overProvider ? 'provider' : 'pool', asking);
    const remedy = 'nodes in use are returned, or limits are raised';
    return {
      reason: reason('pool-full', why.text, remedy, { label, ...why.details }),
      isProviderShort: overProvider !== undefined && !overPool,
      isKnown: true,
    };
  }

  #unknown(label: string): Reason {
    const { refusal, loginRefused } = this.#quota;
    const limits = `limits of provider "${this.#view.provider}"`;
    if (loginRefused) {
      return reason('pool-full', `${limits} cannot be read: ${loginRefused.message}`, loginRefused.nextStep, { label });
    }
    const why = refusal === undefined ? '' : `; the cloud last refused a launch: ${refusal}`;
    return reason('pool-full', `${limits} are being read${why}`, 'the cloud answers', { label });
  }

  #describe(over: Shortage, whose: 'provider' | 'pool', asking: string) {
    const { pool, provider } = this.#view;
    const { text, details } = describe(over, this.#free[whose], asking);
    const order = over.resource === 'instances' ? describeCeiling(this.#view, whose) : undefined;
    const use = whose === 'provider' ? useText(over.resource, this.#quota) : '';
    const why = order === undefined ? `${text}${use}` : `${text}, ${order}`;
    const name = whose === 'provider' ? provider : pool.name;
    return { text: `${whose} "${name}": ${why}`, details };
  }
}

/** Lowers the remaining instances to a maximum. */
function lower(rest: Resources, instances: number): void {
  rest['instances'] = Math.min(rest['instances'] ?? Infinity, instances);
}

/** A shortage in words. Capacity reserved for requests ahead is named separately. */
export function describe({ resource, needed, available }: Shortage, free: Resources, asking: string) {
  if (needed === 0) {
    const text = `${amountText(-available, resource)} more in use than allowed`;
    return { text, details: { resource, needed, available } };
  }
  const left = Math.max(0, available);
  const kept = Math.max(0, (free[resource] ?? 0) - left);
  const text = `${asking}${amountText(needed, resource)}, ${left} free${kept > 0 ? `, ${kept} kept for requests ahead` : ''}`;
  const details = { resource, needed, available: left };
  return { text, details: kept > 0 ? { ...details, kept } : details };
}

/** The part of an amount that the limit applies to. */
export function limitedBy(amount: Resources, limit: Resources): Resources {
  const part: Resources = {};
  for (const name in amount) if (name in limit) part[name] = amount[name] ?? 0;
  return part;
}
