import type { Condition } from '../contract/condition.js';
import type { LaunchExplanation, PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { labelsToText } from '../launcher/plan/texts.js';
import { formatAge } from './age.js';
import { escapeControlCharacters } from '@nodepool/zk-protocol';
import { summarizeExplanation } from './explanation-summary.js';

type Action = PoolExplanation['action'];

/** In the order pools are shown, and what the action means in a word. */
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

/** Pools in the order they are shown: those nearest to serving the request first. */
export function sortPools(pools: readonly PoolExplanation[]): PoolExplanation[] {
  const place = (pool: PoolExplanation) => [ORDER.indexOf(pool.action), pool.position ?? Infinity] as const;
  return [...pools].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    return left[0] - right[0] || (left[1] === right[1] ? 0 : left[1] - right[1]);
  });
}

/**
 * Why a request is where it is, for people: a summary line, what is known of the request, and for each pool the verdict
 * with its rule, the numbers behind it, the place in the queue, and what would have to change.
 * @param conditions - as of {@link summarizeExplanation}
 * @returns lines joined by `\n`, without a final one
 */
export function explanationToText(explanation: RequestExplanation, conditions: readonly Condition[] = []): string {
  const facts = requestFacts(explanation);
  const twins = twinPools(explanation.pools);
  const lines = [
    summarizeExplanation(explanation, conditions),
    '',
    ...facts,
    ...explanation.launches.map((launch) => `  ${'launch'.padEnd(11)}${launchText(launch)}`),
    ...sortPools(explanation.pools).flatMap((pool) => ['', ...poolLines(pool, twins.has(poolName(pool)))]),
  ];
  return lines.map(escapeControlCharacters).join('\n');
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

/** Names of pools that several launchers have. */
function twinPools(pools: readonly PoolExplanation[]): Set<string> {
  const names = pools.map(poolName);
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
}

/** Of a launcher id: `<host>-PoolWorker.<provider>-<pool>-<random>`. */
function launcherHost(launcherId: string): string {
  return launcherId.split('-PoolWorker.', 1)[0] ?? launcherId;
}

/** @param isTwin - another launcher has a pool of that name */
function poolLines(pool: PoolExplanation, isTwin: boolean): string[] {
  const rule = pool.rule === undefined ? '' : ` (${pool.rule})`;
  const numbers = Object.entries(pool.details)
    .filter(([name]) => name !== 'position')
    .map(([name, value]) => `${name}=${String(value)}`);
  const facts: [string, string | undefined][] = [
    ['why', pool.text],
    ['numbers', numbers.length > 0 ? numbers.join(' ') : undefined],
    ...pool.hindrances.map((hindrance): [string, string] => ['hindered', hindrance]),
    ['position', pool.position === undefined ? undefined : positionText(pool.position)],
    ['to change', pool.remedy],
    ['launcher', pool.own ? undefined : `${pool.launcherId} (another launcher's pool: seen from outside)`],
  ];
  return [
    `pool "${poolName(pool)}"${isTwin ? ` of launcher ${launcherHost(pool.launcherId)}` : ''} ${VERDICTS[pool.action]}${rule}`,
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(11)}${value}`])),
  ];
}

function positionText(ahead: number): string {
  if (ahead === 0) return 'first in the queue';
  return `${ahead} ${ahead === 1 ? 'request' : 'requests'} ahead`;
}
