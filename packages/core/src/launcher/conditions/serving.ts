import type { ConditionSource } from '../../conditions/condition-source.js';
import { unservedConditions } from '../../conditions/unserved-providers.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { Steering } from '../plan/steering.js';
import type { PoolSet } from '../pools/pool-set.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import { findOffers } from './label-offers.js';
import { launchConditions, startConditions } from './launch-conditions.js';
import { unservedLabels } from './unserved-labels.js';

/** What shows which labels are served, and what keeps them from it. */
export interface Serving {
  readonly context: Context;
  readonly providers: ProviderSet;
  readonly pools: PoolSet;
  readonly registry: PoolRegistry;
  readonly steering: Steering;
  readonly others: Pick<ConditionSource, 'ofOthers'>;
}

/** What drivers report, and what follows from it and from failed launches for providers and labels. */
export function servingConditions(serving: Serving, nowMs: number): FoundCondition[] {
  const { context, providers, pools, registry, steering, others } = serving;
  const config = context.config.now;
  const ofDrivers = [...providers.configured].flatMap(({ provider }) => provider.conditions?.() ?? []);
  const offers = findOffers({
    ...{ config, ofDrivers, published: others.ofOthers, nowMs, hosts: providers.hosts() },
    views: pools.configured.map(({ view }) => view),
    registered: registry.pools,
  });
  return [
    ...ofDrivers,
    ...unservedConditions(config, registry.pools),
    ...startConditions(providers.configured, offers),
    ...launchConditions(steering.reports(), { offers, ofDrivers }),
    ...unservedLabels(offers),
  ];
}
