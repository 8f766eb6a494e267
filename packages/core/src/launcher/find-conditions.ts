import { resumeStep } from '../text/resume-step.js';
import {
  describeControl,
  type ComponentCache,
  type ComponentRecord,
  type ControlRecord,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { newCondition } from '../conditions/condition-types.js';
import type { ConditionSource } from '../conditions/condition-source.js';
import { unservedConditions } from '../conditions/unserved-providers.js';
import { publishedConditions, type ServiceConditions } from '../conditions/merge-conditions.js';
import type { Condition, FoundCondition } from '../contract/condition.js';
import { imageConditions } from '../images/image-conditions.js';
import { missingStandby, unservedLabels } from './conditions/label-conditions.js';
import { findOffers } from './conditions/label-offers.js';
import { deletionConditions, machineConditions } from './conditions/node-conditions.js';
import {
  drainingConditions,
  launchConditions,
  orphanConditions,
  resourceConditions,
  startConditions,
} from './conditions/provider-conditions.js';
import { recordConditions } from './conditions/record-conditions.js';
import { forgottenRequests } from './conditions/request-conditions.js';
import type { Steering } from './plan/steering.js';
import type { Feature } from './nodes/feature.js';
import type { Reaper } from './nodes/reaper.js';
import type { StandbyGoals } from './nodes/standby-goals.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { GoneLaunchers } from './registry/gone-launchers.js';
import type { MissingBuilder } from './registry/missing-builder.js';
import type { PoolRegistry } from './registry/pool-registry.js';
import type { Registration } from './registry/registration.js';
import type { Context } from './state/context.js';
import type { ImageMirror } from './state/image-mirror.js';

/** The parts of a launcher that conditions are derived from. */
export interface ObservedParts {
  readonly context: Context;
  readonly gone: GoneLaunchers;
  readonly builders: MissingBuilder;
  readonly images: ImageMirror;
  readonly components: ComponentCache;
  readonly registry: PoolRegistry;
  readonly registration: Registration<ComponentRecord>;
  readonly steering: Steering;
  readonly providers: ProviderSet;
  readonly pools: PoolSet;
  readonly reaper: Reaper;
  readonly goals: StandbyGoals;
  readonly features: readonly Feature[];
}

/** Finds the current conditions of a launcher. Each search costs a pass over nodes, labels and pools. */
export class LauncherConditions implements ConditionSource {
  readonly #parts: ObservedParts;
  /** Since when labels lack standby nodes. */
  readonly #lackingSinceMs = new Map<string, number>();

  constructor(parts: ObservedParts) {
    this.#parts = parts;
  }

  onConcern(listener: () => void): () => void {
    const { events, zk } = this.#parts.context;
    const names = ['healthChanged', 'providerStarted', 'ordersChanged', 'imageChanged', 'poolChanged'] as const;
    const ends = [...names.map((name) => events.on(name, listener)), zk.onState(listener)];
    return () => ends.forEach((end) => end());
  }

  publish(conditions: readonly Condition[]): void {
    this.#parts.registration.setConditions(conditions);
  }

  get ofOthers(): ServiceConditions[] {
    const { components, registration } = this.#parts;
    return [...components.values()].filter(({ id }) => id !== registration.id).map(publishedConditions);
  }

  /** Finds nothing before the start has ended, as the parts do not know their state until then. */
  find(): FoundCondition[] {
    if (!this.#parts.context.life.isStarted) return [];
    const { images, pools, providers, registry, context, steering, reaper, goals, features } = this.#parts;
    const { controls, mirror } = context;
    const { nodes, requests } = mirror;
    const config = context.config.now;
    const nowMs = context.clock.now();
    const ofDrivers = [...providers.configured].flatMap(({ provider }) => provider.conditions?.() ?? []);
    const published = this.ofOthers;
    const offers = findOffers({
      ...{ config, ofDrivers, published, nowMs, hosts: providers.hosts() },
      views: pools.configured.map(({ view }) => view),
      registered: registry.pools,
    });
    const seen = [...nodes.values()];
    const rows = seen.map((node) => ({ node, locked: nodes.contenders(node.id) > 0 }));
    return [
      ...this.#parts.gone.conditions(),
      ...this.#parts.builders.conditions(config),
      ...ofDrivers,
      ...unservedConditions(config, registry.pools),
      ...startConditions(providers.configured, { offers, ofDrivers }),
      ...launchConditions(steering.reports(), { offers, ofDrivers }),
      ...drainingConditions(providers.draining, (name) => seen.filter(({ provider }) => provider === name)),
      ...orphanConditions(this.#orphans(seen, published)),
      ...resourceConditions(providers.leakedResources(), providers.alienResources()),
      ...unservedLabels(offers),
      ...missingStandby({ labels: config.labels.keys(), wantedOf: (label) => goals.wanted(label) }, seen, {
        nowMs,
        sinceMs: this.#lackingSinceMs,
      }),
      ...features.flatMap((feature) => feature.conditions?.() ?? []),
      ...(images.ready ? imageConditions(config.diskimages.values(), images.images, nowMs) : []),
      ...machineConditions(providers.unusableNodes(), nodes),
      ...deletionConditions(rows, reaper.failing(), nowMs),
      ...recordConditions(context),
      ...forgottenRequests(requests.values(), nowMs),
      ...controls.inForce.flatMap(orderCondition),
    ];
  }

  /** Nodes by provider, of providers that no launcher has or drains. */
  #orphans(nodes: readonly NodeRecord[], published: readonly ServiceConditions[]): Map<string, NodeRecord[]> {
    const { context, providers, registry } = this.#parts;
    const known = new Set([
      ...context.config.now.providers.keys(),
      ...(context.config.now.unserved?.keys() ?? []),
      ...registry.pools.map(({ providerName }) => providerName),
      ...providers.draining.map(({ provider }) => provider),
      ...published.flatMap(({ conditions }) =>
        conditions.flatMap(({ type, name }) => (type === 'Draining' ? name : [])),
      ),
    ]);
    const orphans = new Map<string, NodeRecord[]>();
    for (const node of nodes) {
      if (node.provider === null || known.has(node.provider)) continue;
      const found = orphans.get(node.provider);
      if (found) found.push(node);
      else orphans.set(node.provider, [node]);
    }
    return orphans;
  }
}

const ORDERS = { pause: 'Paused', drain: 'Drained', limit: 'Limited', hold: undefined } as const;

/** An order to hold a node takes nothing out of service. */
function orderCondition(control: ControlRecord): FoundCondition[] {
  const { kind, name, mode, owner } = control;
  const reason = ORDERS[mode];
  if (reason === undefined) return [];
  const message = `it is ${describeControl(control)}`;
  const nextStep = resumeStep(control);
  const sinceMs = control.createdTimeMs;
  return [newCondition('OrderInForce', { kind, name, reason, message, nextStep, sinceMs, evidence: { owner } })];
}
