import type { Condition } from '../contract/condition.js';
import type { LaunchExplanation, PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { labelsToText } from '../launcher/plan/texts.js';
import { formatAge } from './age.js';
import { escapeControlCharacters } from '@nodepool/zk-protocol';
import { conditionText, nextStepText } from './condition-text.js';
import { freeNodesLines } from './explained-free-nodes.js';
import { summarizeExplanation } from './explanation-summary.js';
import { brokenPool, relatedConditions, unservedLabel } from './related-conditions.js';

type Action = PoolExplanation['action'];

/** Text of each action, in the display order of pools. */
const VERDICTS: Readonly<Record<Action, string>> = {
  handling: 'handles it',
  accept: 'takes it',
  wait: 'keeps it waiting',
  yield: 'yields to another pool',
  defer: 'leaves it to another pool',
  foreign: 'may take it',
  decline: 'declines it',
  skip: 'ignores it',
};
const ORDER = Object.keys(VERDICTS) as Action[];

/** Sorts pools for display: pools closest to serving the request come first. */
export function sortPools(pools: readonly PoolExplanation[]): PoolExplanation[] {
  const place = (pool: PoolExplanation) => [ORDER.indexOf(pool.action), pool.position ?? Infinity] as const;
  return [...pools].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    return left[0] - right[0] || (left[1] === right[1] ? 0 : left[1] - right[1]);
  });
}

/**
 * Explains the state of a request as text: a summary line, facts about the request, and for each pool the verdict with
 * its rule, numbers, queue position, and remedy.
 * @param conditions - all active conditions, of any subject
 * @returns lines joined by `\n`, without a final one
 */
export function explanationToText(
  explanation: RequestExplanation,
  conditions: readonly Condition[],
  nowMs: number,
): string {
  const facts = requestFacts(explanation);
  const related = relatedConditions(explanation, conditions);
  const lines = [
    summarizeExplanation(explanation, related),
    '',
    ...facts,
    ...explanation.launches.map((launch) => `  ${'launch'.padEnd(11)}${launchText(launch)}`),
    ...byName(
      sortPools(explanation.pools).map((pool) => ({ ...pool, ...verdictOf(pool, explanation.labels, related) })),
    ).flatMap(([first, ...others]) => ['', ...poolLines(first, others)]),
    ...(explanation.freeNodes ?? []).flatMap(freeNodesLines),
    ...conditionLines(related, nowMs),
  ];
  return lines.map(escapeControlCharacters).join('\n');
}

/** Verdict of a pool. A condition overrides the plan, which does not consider failing launches. */
function verdictOf(pool: PoolExplanation, labels: readonly string[], conditions: readonly Condition[]) {
  const verdict = VERDICTS[pool.action];
  if (pool.action !== 'accept') return { verdict };
  const broken = brokenPool(pool, labels, conditions);
  const obstacle = unservedLabel(labels, conditions) ?? broken;
  if (!obstacle) return { verdict };
  const isLimited = obstacle === broken && broken.type !== 'NotStarted';
  const { message: text, nextStep } = broken ?? obstacle;
  return {
    verdict: isLimited ? `${verdict} only with the nodes that it has` : 'cannot serve it now',
    ...{ text, remedy: nextStepText({ nextStep }) },
  };
}

/** Lines of the conditions related to the request; empty without any. */
function conditionLines(conditions: readonly Condition[], nowMs: number): string[] {
  if (conditions.length === 0) return [];
  return [
    '',
    'What is wrong',
    ...conditions.flatMap((each) => [`  ${each.severity}: ${conditionText(each, nowMs)}`, `    ${nextStepText(each)}`]),
  ];
}

function requestFacts({ labels, requestor, tenant, nodes, ageMs, launchError }: RequestExplanation): string[] {
  const facts: [string, string | undefined][] = [
    ['labels', labelsToText(labels)],
    ['age', ageMs === undefined ? undefined : formatAge(ageMs)],
    ['requestor', requestor ?? undefined],
    ['tenant', tenant ?? undefined],
    ['nodes', nodes.length > 0 ? nodes.join(', ') : undefined],
    ['last error', launchError ?? undefined],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(11)}${value}`]));
}

/** E.g. `node 0000000012 of cloud/main is building since 00:00:01:12; attempt 1 of 3 failed, ...`. */
function launchText({ nodeId, provider, pool, state, ageMs, error, trial }: LaunchExplanation): string {
  const place = provider === null ? '' : ` of ${provider}/${pool ?? ''}`;
  const notes = [trial, error].flatMap((note) => (note === null ? [] : [`; ${note}`])).join('');
  return `node ${nodeId}${place} is ${state} since ${formatAge(ageMs)}${notes}`;
}

const poolName = ({ provider, pool }: PoolExplanation): string => `${provider}/${pool}`;

type JudgedPool = PoolExplanation & { readonly verdict: string };

/** Pools of one name, which several launchers may have, in the place of the first. */
function byName(pools: readonly JudgedPool[]): [JudgedPool, ...JudgedPool[]][] {
  const groups = new Map<string, [JudgedPool, ...JudgedPool[]]>();
  for (const pool of pools) {
    const group = groups.get(poolName(pool));
    if (group) group.push(pool);
    else groups.set(poolName(pool), [pool]);
  }
  return [...groups.values()];
}

/** Characters of the random part of a launcher id that tell launchers apart. */
const ID_SHOWN = 8;

/** Host name in a launcher id: `<host>-PoolWorker.<provider>-<pool>-<random>`. */
function launcherHost(launcherId: string): string {
  return launcherId.split('-PoolWorker.', 1)[0] ?? launcherId;
}

/** A name for the launcher of each pool: its host, and where several have that, the start of the random part of the id. */
function nameLaunchers(pools: readonly PoolExplanation[]): (pool: PoolExplanation) => string {
  const ids = [...new Set(pools.map(({ launcherId }) => launcherId))];
  const isAlone = (host: string) => ids.filter((id) => launcherHost(id) === host).length < 2;
  return ({ launcherId }) => {
    const host = launcherHost(launcherId);
    return isAlone(host) ? host : `${host} (${launcherId.slice(launcherId.lastIndexOf('-') + 1).slice(0, ID_SHOWN)})`;
  };
}

const ruleText = ({ rule }: PoolExplanation) => (rule === undefined ? '' : ` (${rule})`);

/** @param others - pools of the same name, of other launchers */
function poolLines(pool: JudgedPool, others: readonly JudgedPool[]): string[] {
  const numbers = Object.entries(pool.details)
    .filter(([name]) => name !== 'position')
    .map(([name, value]) => `${name}=${String(value)}`);
  const isSame = (other: JudgedPool) => other.verdict === pool.verdict && other.text === pool.text;
  const same = others.filter(isSame);
  const launcherOf = nameLaunchers([pool, ...others]);
  const facts: [string, string | undefined][] = [
    ['why', pool.text],
    ['numbers', numbers.length > 0 ? numbers.join(' ') : undefined],
    ...pool.blockers.map((blocker): [string, string] => ['blocked', blocker]),
    ['position', pool.position === undefined ? undefined : positionText(pool.position)],
    ['to change', pool.remedy],
    ['launcher', pool.own ? undefined : `${pool.launcherId} (another launcher's pool: seen from outside)`],
    ['same for', same.length === 0 ? undefined : same.map(launcherOf).join(', ')],
    ...others
      .filter((other) => !isSame(other))
      .map((other): [string, string] => [launcherOf(other), `${other.verdict}${ruleText(other)}: ${other.text}`]),
  ];
  return [
    `pool "${poolName(pool)}"${others.length > 0 ? ` of launcher ${launcherOf(pool)}` : ''} ${pool.verdict}${ruleText(pool)}`,
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(10)} ${value}`])),
  ];
}

function positionText(ahead: number): string {
  if (ahead === 0) return 'first in the queue';
  return `${ahead} ${ahead === 1 ? 'request' : 'requests'} ahead`;
}
