import { Ago } from './parts.js';
import type { Condition, Overview } from './types.js';
import { count } from './words.js';

/** Conditions that are shown at once; errors come first. */
const SHOWN = 5;

/** What deserves a look, in one line, and each condition below it. */
export function Attention({ overview, now }: { overview: Overview; now: number }) {
  const conditions = hostsLast(overview.conditions ?? []);
  const sentences = summaryOf(overview);
  const isBad = conditions.some(({ severity }) => severity === 'error') || (overview.hosts?.down ?? 0) > 0;
  const tone = isBad ? 'bad' : sentences.length + conditions.length > 0 ? 'warn' : 'good';
  return (
    <section class={`attention ${tone}`} aria-label="What needs attention">
      <p class="summary">{sentences.length > 0 ? `${sentences.join('; ')}.` : calm(overview)}</p>
      <Conditions conditions={conditions.slice(0, SHOWN)} now={now} />
      {conditions.length > SHOWN && (
        <details>
          <summary>{count(conditions.length - SHOWN, 'more condition')}</summary>
          <Conditions conditions={conditions.slice(SHOWN)} now={now} />
        </details>
      )}
    </section>
  );
}

/** Of hosts there may be many, and they have a page of their own. */
function hostsLast(conditions: readonly Condition[]): readonly Condition[] {
  return [...conditions].sort((a, b) => Number(a.kind === 'host') - Number(b.kind === 'host'));
}

function Conditions({ conditions, now }: { conditions: readonly Condition[]; now: number }) {
  if (conditions.length === 0) return null;
  return (
    <ul class="conditions">
      {conditions.map((condition) => (
        <ConditionItem condition={condition} now={now} />
      ))}
    </ul>
  );
}

function ConditionItem({ condition, now }: { condition: Condition; now: number }) {
  const { kind, name, severity, type, message, next_step: next, since, status } = condition;
  return (
    <li class={severity === 'error' ? 'bad' : 'warn'}>
      <p>
        <strong>
          {kind} {name}
        </strong>{' '}
        {spaced(type)}, since <Ago time={since} now={now} />
        {status === 'unknown' && ' (the service that found it does not answer)'}
      </p>
      <p class="clamp">{message}</p>
      {next !== '' && <p class="next">Next: {next}</p>}
    </li>
  );
}

/** `LaunchesFail` as `launches fail`. */
function spaced(type: string): string {
  return type.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

/** What deserves a look, in sentences; empty while all is well. */
export function summaryOf({ requests, hosts, providers = [], controls = [], conditions = [] }: Overview): string[] {
  const waits = requests?.waits ?? [];
  const failed = providers.filter(({ state }) => state === 'failed').map(({ name }) => name);
  const orders = controls
    .filter(({ mode }) => mode in ORDERS)
    .map(({ kind, name, mode }) => `${kind} ${name} is ${ORDERS[mode] ?? mode} by an operator`);
  const errors = conditions.filter(({ severity }) => severity === 'error').length;
  const [found, noun] = errors > 0 ? [errors, 'error'] : [conditions.length, 'warning'];
  return [
    ...waits.map(
      ({ pool, count: n }) => `${count(n, 'request')} ${n === 1 ? 'waits' : 'wait'} for capacity of ${pool}`,
    ),
    ...(hosts && hosts.down > 0 ? [`${hosts.down} of ${count(hosts.total, 'host')} are down`] : []),
    ...(failed.length > 0 ? [`provider ${failed.join(', ')} does not work`] : []),
    ...orders,
    ...(waits.length + failed.length + orders.length + (hosts?.down ?? 0) === 0 && found > 0
      ? [`${count(found, noun)} ${found === 1 ? 'needs' : 'need'} attention`]
      : []),
  ];
}

const ORDERS: Readonly<Record<string, string>> = { pause: 'paused', drain: 'drained', limit: 'limited' };

function calm({ nodes = {}, requests }: Overview): string {
  if (!requests) return 'Everything is in order.';
  const waiting = requests.waiting === 0 ? 'no request waits' : `${count(requests.waiting, 'request')} in the queue`;
  return `Everything is in order: ${count(nodes['ready'] ?? 0, 'node')} ready, ${waiting}.`;
}
