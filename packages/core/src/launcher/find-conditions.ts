import type { ComponentCache, ComponentRecord } from '@nodepool/zk-protocol';
import type { ConditionSource } from '../conditions/condition-source.js';
import { publishedConditions } from '../conditions/merge-conditions.js';
import type { Registration } from './registry/registration.js';
import type { Context } from './state/context.js';
import type { Part } from './state/part.js';

/** Where the conditions of a launcher come from. */
export interface ConditionSources {
  readonly context: Context;
  readonly components: ComponentCache;
  readonly registration: Registration<ComponentRecord>;
  /** May be completed later. */
  readonly parts: readonly Part[];
}

/** The conditions of a launcher, which its parts find. Each search costs a pass over nodes, labels and pools. */
export function findConditions({ context, components, registration, parts }: ConditionSources): ConditionSource {
  const { clock, events, life, zk } = context;
  return {
    find() {
      const nowMs = clock.now();
      // before the start has ended, the parts do not know their state
      return life.isStarted ? parts.flatMap((part) => part.conditions?.(nowMs) ?? []) : [];
    },
    publish: (conditions) => registration.setConditions(conditions),
    get ofOthers() {
      return [...components.values()].filter(({ id }) => id !== registration.id).map(publishedConditions);
    },
    onConcern(listener) {
      const names = ['healthChanged', 'providerStarted', 'ordersChanged', 'imageChanged', 'poolChanged'] as const;
      const ends = [...names.map((name) => events.on(name, listener)), zk.onState(listener)];
      return () => ends.forEach((end) => end());
    },
  };
}
