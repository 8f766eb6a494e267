import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { LabelOffer, Obstacle } from './label-offers.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of labels that nothing serves. */
export const CONDITIONS = {
  NotServed: {
    ...{ kind: 'label', severity: 'error' },
    meaning: 'no pool of any launcher can serve a label now',
    reasons: {
      NoPool: 'no pool has the label',
      PoolDisabled: 'max-servers or max-concurrency is 0',
      Paused: 'an order of an operator',
      ProviderNotStarted: 'the provider of its only pool is not started',
      ProviderUnserved: 'the driver of the provider is missing here, and no other launcher serves it',
      ProviderFails: 'launches in the provider fail, or its cloud refuses the credentials or does not answer',
      LabelFails: 'launches of the label fail, while the provider works',
      LabelUnavailable: 'the definition of the label does not match the cloud',
      ImageMissing: 'there is no image to launch from',
      Quota: 'one node needs more than the whole quota, or than others leave of it',
      NoNodes: 'a pool that launches nothing has no node of the label, for example because its hosts do not answer',
      Several: 'several pools, with different reasons',
    },
    nextStep: 'that of the cause; nodepool explain --label LABEL lists all pools',
  },
} as const satisfies ConditionTypes;

/** Pools named in one message. */
const MOST_POOLS = 3;

/** Labels that no pool can serve now. */
export function unservedLabels(offers: ReadonlyMap<string, readonly LabelOffer[]>): FoundCondition[] {
  return [...offers].flatMap(([label, pools]) => unservedLabel(label, pools) ?? []);
}

/** What is wrong with a provider, the plainest first. */
const OF_PROVIDER = ['ProviderFails', 'ProviderNotStarted'];
/** Launchers find one trouble of a provider in these ways. */
const SAME_TROUBLE: ReadonlySet<string> = new Set([...OF_PROVIDER, 'LabelFails']);

/** With one obstacle, the plainest, where launchers find the same trouble of a provider in several ways. */
function plainly(offer: LabelOffer, pools: readonly LabelOffer[]): LabelOffer {
  if (!SAME_TROUBLE.has(offer.obstacle?.reason ?? '')) return offer;
  const ofProvider = pools.filter(({ provider }) => provider === offer.provider);
  const found = OF_PROVIDER.flatMap((each) => ofProvider.find(({ obstacle }) => obstacle?.reason === each) ?? []);
  return { ...offer, obstacle: found[0]?.obstacle ?? offer.obstacle };
}

function unservedLabel(label: string, all: readonly LabelOffer[]): FoundCondition | undefined {
  const pools = all.map((offer) => plainly(offer, all));
  const obstacles = pools.flatMap(({ obstacle }) => obstacle ?? []);
  if (obstacles.length < pools.length) return undefined;
  const providers = new Set(pools.map(({ provider }) => provider));
  const [onlyProvider = null] = providers.size === 1 ? providers : [];
  const evidence = { pools: pools.length, ...(onlyProvider !== null && { onlyProvider }) };
  if (pools.length === 0) {
    const nextStep = `add label "${label}" to a pool, or remove it from the configuration`;
    return newCondition(CONDITIONS, 'NotServed', {
      ...{ name: label, reason: 'NoPool', message: 'no pool of any launcher has it', nextStep, evidence },
    });
  }
  const reasons = new Set(obstacles.map(({ reason }) => reason));
  return newCondition(CONDITIONS, 'NotServed', {
    ...{ name: label, reason: reasons.size === 1 ? (obstacles[0]?.reason ?? '') : 'Several' },
    message: `no pool can serve it now: ${textOf(pools)}`,
    nextStep: nextStepOf(label, obstacles),
    evidence,
  });
}

/** Each text once, as launchers that share a provider report the same. */
function textOf(pools: readonly LabelOffer[]): string {
  const texts = new Set(pools.map(({ provider, pool, obstacle }) => `${provider}/${pool}: ${obstacle?.message ?? ''}`));
  return firstOf([...texts], MOST_POOLS, '; ');
}

function nextStepOf(label: string, obstacles: readonly Obstacle[]): string {
  const steps = new Set(obstacles.map(({ nextStep }) => nextStep).filter((step) => step !== ''));
  const [first] = steps;
  if (first === undefined) return `nodepool explain --label ${label}`;
  return steps.size === 1 ? first : `${first}; nodepool explain --label ${label} has the other pools`;
}
