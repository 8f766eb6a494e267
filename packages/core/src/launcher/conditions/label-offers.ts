import { resumeStep } from '../../text/resume-step.js';
import { newRequest, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { adviceFor, causeOf } from '../../conditions/error-reason.js';
import { CONDITIONS } from '../../conditions/unserved-providers.js';
import { concerns, type ServiceConditions } from '../../conditions/merge-conditions.js';
import type { Condition, FoundCondition } from '../../contract/condition.js';
import type { Config } from '../../contract/config.js';
import type { HostStatus } from '../../contract/driver.js';
import { isAboutLabel } from '../plan/controls.js';
import { judgeDecline, othersText } from '../plan/rules.js';
import type { RuleName } from '../plan/types.js';
import type { LabelHealth, SteeringReport } from '../plan/steering.js';
import type { LivePoolView } from '../view/pool-view.js';

/** Why a pool cannot serve a label now. */
export interface Obstacle {
  /** One of the reasons of `NotServed`. */
  readonly reason: string;
  readonly message: string;
  readonly nextStep: string;
}

/** A pool that has a label. */
export interface LabelOffer {
  readonly provider: string;
  readonly pool: string;
  /** `undefined`: it can serve the label. */
  readonly obstacle: Obstacle | undefined;
}

/** The input of {@link findOffers}. */
export interface OfferSources {
  readonly config: Config;
  /** Pools of this launcher. */
  readonly views: readonly LivePoolView[];
  /** Registered pools of all launchers. */
  readonly registered: readonly PoolComponentRecord[];
  /** Conditions of this launcher's drivers. */
  readonly ofDrivers: readonly FoundCondition[];
  /** Machines that the drivers of this launcher lend. */
  readonly hosts: readonly (HostStatus & { readonly provider: string })[];
  /** Conditions that other services have published, by host. */
  readonly published: readonly ServiceConditions[];
  readonly nowMs: number;
}

/** By label, the pools of all launchers that have it, and whether they can serve it now. Leaves out disabled labels. */
export function findOffers(sources: OfferSources): Map<string, LabelOffer[]> {
  const offers = new Map<string, LabelOffer[]>();
  for (const { name, minReady } of sources.config.labels.values()) if (minReady !== -1) offers.set(name, []);
  for (const view of sources.views) {
    const { provider, pool } = view;
    const report = view.launches ? view.steering?.report() : undefined;
    for (const label of pool.labels.keys()) {
      offers.get(label)?.push({ provider, pool: pool.name, obstacle: obstacleIn(view, label, { ...sources, report }) });
    }
  }
  const own = new Set(sources.views.map(({ launcherId }) => launcherId));
  for (const pool of sources.registered) {
    if (own.has(pool.launcherId)) continue;
    for (const label of pool.supportedLabels) offers.get(label)?.push(offerElsewhere(pool, label, offers, sources));
  }
  for (const [label, offer] of unservedOffers(sources)) offers.get(label)?.push(offer);
  return offers;
}

/** Offers of the configured providers that no launcher serves. */
function unservedOffers({ config, registered }: OfferSources): [string, LabelOffer][] {
  return [...(config.unserved?.values() ?? [])].flatMap(({ name: provider, driverName, pools }) => {
    if (registered.some((pool) => pool.providerName === provider)) return [];
    const message = `its driver "${driverName}" is missing, and no launcher serves it`;
    const obstacle = { reason: 'ProviderUnserved', message, nextStep: CONDITIONS.Unserved.nextStep };
    return [...pools].flatMap(([pool, labels]) =>
      labels.map((label): [string, LabelOffer] => [label, { provider, pool, obstacle }]),
    );
  });
}

const BY_RULE: Partial<Record<RuleName, string>> = {
  'pool-disabled': 'PoolDisabled',
  'label-unavailable': 'LabelUnavailable',
  'images-unavailable': 'ImageMissing',
  'exceeds-quota': 'Quota',
};

/** The first obstacle, from the provider down to its launches. */
function obstacleIn(
  view: LivePoolView,
  label: string,
  sources: OfferSources & { readonly report: SteeringReport | undefined },
): Obstacle | undefined {
  return (
    notStarted(view) ??
    closed(view) ??
    paused(view, label) ??
    declined(view, label, sources) ??
    withoutNodes(view, label, sources) ??
    usedUp(view, label, sources) ??
    failing(view, label, sources)
  );
}

function notStarted({ runner, provider }: LivePoolView): Obstacle | undefined {
  if (runner.running) return undefined;
  const { startFailure } = runner;
  const message = `provider "${provider}" is not started${startFailure ? `: ${startFailure.message}` : ''}`;
  const nextStep = startFailure ? causeOf(startFailure, provider).nextStep : '';
  return { reason: 'ProviderNotStarted', message, nextStep };
}

function closed({ maxConcurrency, provider }: LivePoolView): Obstacle | undefined {
  if (maxConcurrency !== 0) return undefined;
  const message = `max-concurrency of provider "${provider}" is 0`;
  return { reason: 'PoolDisabled', message, nextStep: `raise max-concurrency of provider "${provider}"` };
}

function paused(view: LivePoolView, label: string): Obstacle | undefined {
  const order = view.controls.find((control) => control.mode !== 'limit' && isAboutLabel(control, label, view));
  if (!order) return undefined;
  const { kind, name, owner } = order;
  const message = `${kind} "${name}" is taken out of service by ${owner}`;
  return { reason: 'Paused', message, nextStep: resumeStep(order) };
}

function declined(view: LivePoolView, label: string, { ofDrivers, nowMs }: OfferSources): Obstacle | undefined {
  const verdict = judgeDecline(newRequest({ labels: [label] }, nowMs), view);
  if (!verdict) return undefined;
  const { rule, text, remedy } = verdict.reason;
  const subjects = { providers: [view.provider], pools: [`${view.provider}/${view.pool.name}`], labels: [label] };
  const cause = ofDrivers.find((condition) => condition.kind === 'label' && concerns(condition, subjects));
  const reason = BY_RULE[rule] ?? 'LabelUnavailable';
  return cause
    ? { reason, message: cause.message, nextStep: cause.nextStep }
    : { reason, message: text, nextStep: remedy };
}

/** Hosts named in one message. */
const MOST_HOSTS = 3;

/** A pool that launches nothing serves from its existing nodes, and has them once its hosts have been checked. */
function withoutNodes(view: LivePoolView, label: string, { ofDrivers, hosts }: OfferSources): Obstacle | undefined {
  if (view.launches || view.presentNodes(label) > 0) return undefined;
  const { provider, pool } = view;
  const isUnchecked = hosts.some(
    (host) =>
      host.health === 'unknown' && host.provider === provider && host.pool === pool.name && host.labels.includes(label),
  );
  if (isUnchecked) return undefined;
  const down = ofDrivers.filter(
    ({ kind, evidence }) =>
      kind === 'host' &&
      evidence['provider'] === provider &&
      evidence['pool'] === pool.name &&
      String(evidence['labels']).split(',').includes(label),
  );
  const texts = down.slice(0, MOST_HOSTS).map(({ name, message }) => `host "${name}": ${message}`);
  if (down.length > MOST_HOSTS) texts.push(`and ${down.length - MOST_HOSTS} more hosts`);
  const message = ['it has no node of the label', ...texts].join('; ');
  return { reason: 'NoNodes', message, nextStep: `repair the hosts of provider "${provider}"` };
}

/** One node of the label does not fit beside the use of others, however few nodes of ours there are. */
function usedUp(view: LivePoolView, label: string, { nowMs }: OfferSources): Obstacle | undefined {
  const message = othersText(newRequest({ labels: [label] }, nowMs), view);
  if (message === undefined || hasFreeNode(view, label)) return undefined;
  return { reason: 'Quota', message, nextStep: 'raise the quota of the cloud project, or end what others use of it' };
}

/** What keeps a provider from launching nodes, as its driver has found. */
const STOPS_LAUNCHES: ReadonlySet<string> = new Set(['LoginRefused', 'CallsUnanswered']);

function failing(
  view: LivePoolView,
  label: string,
  { report, ofDrivers }: Pick<OfferSources, 'ofDrivers'> & { readonly report: SteeringReport | undefined },
): Obstacle | undefined {
  if (!view.launches || hasFreeNode(view, label)) return undefined;
  const cause = ofDrivers.find(({ type, name }) => STOPS_LAUNCHES.has(type) && name === view.provider);
  if (cause) return { reason: 'ProviderFails', message: cause.message, nextStep: cause.nextStep };
  if (!report) return undefined;
  // a quota that is used up, by own nodes as well, ends with their return: there is a warning for it
  const isOfLabel = (each: LabelHealth) => each.label === label && each.health.reason !== 'Quota';
  const ofLabel = [...report.labels, ...report.doubted].find(isOfLabel);
  const isAlone = report.provider.state === 'healthy';
  const health = isAlone ? ofLabel?.health : report.provider;
  if (!health) return undefined;
  const [reason, what] = isAlone ? ['LabelFails', `launches of "${label}"`] : ['ProviderFails', report.failing];
  const message = `${health.failures} ${what} in a row failed: ${health.error ?? 'no reason is known'}`;
  return { reason, message, nextStep: adviceFor(health.reason ?? 'Error', view.provider, ofLabel?.neverReady) };
}

function hasFreeNode(view: LivePoolView, label: string): boolean {
  for (const _node of view.freeNodes(label)) return true;
  return false;
}

/** Obstacles in the cloud, which are the same for all launchers that share the provider. */
const OF_THE_CLOUD: ReadonlySet<string> = new Set([
  'LabelUnavailable',
  'ImageMissing',
  'Quota',
  'ProviderFails',
  'LabelFails',
  'NoNodes',
]);

/** The offer of another launcher's pool, by its registry entry and the conditions that its launcher has published. */
function offerElsewhere(
  { providerName: provider, name: pool, hostname, health }: PoolComponentRecord,
  label: string,
  offers: ReadonlyMap<string, readonly LabelOffer[]>,
  { published }: OfferSources,
): LabelOffer {
  const subjects = { providers: [provider], pools: [`${provider}/${pool}`], labels: [label] };
  const concerned = (condition: Condition) =>
    condition.severity === 'error' && isCause(condition, provider) && concerns(condition, subjects);
  const found = published
    .filter(({ service }) => service === `launcher ${hostname}`)
    .flatMap(({ conditions }) => conditions.filter(concerned));
  const shared = offers
    .get(label)
    ?.find((own) => own.provider === provider && OF_THE_CLOUD.has(own.obstacle?.reason ?? ''));
  const [cause] = found;
  if (cause)
    return { provider, pool, obstacle: { reason: reasonFor(cause), message: cause.message, nextStep: cause.nextStep } };
  if (shared) return { provider, pool, obstacle: shared.obstacle };
  const obstacle = health
    ? { reason: 'ProviderFails', message: `its launches fail on ${hostname}`, nextStep: '' }
    : undefined;
  return { provider, pool, obstacle };
}

/** Errors that keep a whole provider from launching. Others, such as leaked resources that cannot be deleted, keep no label from it. */
const STOPS_PROVIDER: ReadonlySet<string> = new Set(['NotStarted', 'LaunchesFail', ...STOPS_LAUNCHES]);

/** Excludes `NotServed`: two launchers would derive it from each other. */
function isCause({ type, kind, evidence }: Condition, provider: string): boolean {
  if (kind === 'provider') return STOPS_PROVIDER.has(type);
  return kind === 'label' && evidence['provider'] === provider;
}

function reasonFor({ kind, type }: Condition): string {
  if (kind === 'label') return 'LabelUnavailable';
  return type === 'NotStarted' ? 'ProviderNotStarted' : 'ProviderFails';
}
