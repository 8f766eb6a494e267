import type { StandbyFigures } from '@nodepool/history';
import { scheduleYaml, type StandbyAdvice } from '@nodepool/history/replay';
import { durationText, type Column, type Listing } from '@nodepool/core/service';

const POLICIES = ['now', 'min-ready', 'schedule', 'auto'] as const;
type Policy = (typeof POLICIES)[number];

/** One label with one way to keep standby nodes. */
interface AdviceRow {
  readonly label: string;
  readonly policy: Policy | undefined;
  readonly figures: StandbyFigures | undefined;
  /** Idle node-hours fewer than now. */
  readonly savedHours: number | undefined;
  /** Price of a node-hour; `undefined`: unknown. */
  readonly price: number | undefined;
  readonly isProposed: boolean;
  readonly reason: string | undefined;
}

/** Four rows for each label, or one if there are no figures. @param priceOf - price of a node of a label for an hour */
export function adviceRows(
  advices: readonly StandbyAdvice[],
  priceOf: (label: string, provider: string) => number | undefined,
): AdviceRow[] {
  return advices.flatMap(({ label, proposal, reason, figures, settings }): AdviceRow[] => {
    const none = { policy: undefined, figures: undefined, savedHours: undefined, price: undefined };
    if (!figures) return [{ label, ...none, isProposed: false, reason }];
    const price = meanPrice(figures.providers, (provider) => priceOf(label, provider));
    const proposed = proposal === 'keep' ? 'now' : proposal;
    const write = settings ? `${reason}; write: ${scheduleYaml(settings)}` : reason;
    return POLICIES.map((policy) => {
      const isTold = policy === (proposed ?? 'now');
      const savedHours = figures.now.idleHours - figures[policy].idleHours;
      const row = { label, policy, figures: figures[policy], savedHours, price };
      return { ...row, isProposed: policy === proposed, reason: isTold ? write : undefined };
    });
  });
}

/** The price of a node-hour, by the share of each provider; providers without a price are left out. */
function meanPrice(
  shares: ReadonlyMap<string, number>,
  priceAt: (provider: string) => number | undefined,
): number | undefined {
  let [sum, known] = [0, 0];
  for (const [provider, share] of shares) {
    const price = priceAt(provider);
    if (price === undefined) continue;
    sum += price * share;
    known += share;
  }
  return known === 0 ? undefined : sum / known;
}

function column(
  key: string,
  header: string,
  of: (row: AdviceRow) => number | undefined,
  text: (value: number) => string,
): Column<AdviceRow> {
  const value = (row: AdviceRow) => {
    const found = of(row);
    return found === undefined ? null : Math.round(found * 100) / 100;
  };
  const cell = (row: AdviceRow) => {
    const found = of(row);
    return found === undefined ? '-' : text(found);
  };
  return { key, header, level: 'brief', value, cell };
}

/** Shown when it is asked for. */
const extra = (column: Column<AdviceRow>): Column<AdviceRow> => ({ ...column, level: 'extra' });

/** What is proposed for a label and why, below the table; what to write on a line of its own. */
export function adviceLines({ label, proposal, reason, figures, settings }: StandbyAdvice): string[] {
  const said = proposal === undefined ? 'nothing is proposed' : proposal === 'keep' ? 'stays as it is' : 'write';
  const write = {
    ...{ keep: undefined, auto: 'standby: auto', schedule: settings && scheduleYaml(settings) },
    'min-ready': `min-ready: ${figures?.['min-ready'].nodes ?? 0}`,
  };
  const line = proposal && write[proposal];
  return [
    `${label}: ${line === undefined ? said : `${said} ${line}`}`,
    ...reason.split('; ').map((part) => `  ${part}`),
  ];
}

/** What `advise` shows. */
export const adviceListing: Listing<AdviceRow> = [
  { key: 'label', header: 'Label', level: 'brief', value: ({ label }) => label },
  {
    ...{ key: 'policy', header: 'Standby', level: 'brief' },
    value: ({ policy }) => policy ?? null,
    cell: ({ policy }) => policy ?? '-',
  },
  column(
    ...(['at_once', 'At Once'] as const),
    ({ figures }) => figures && 100 * figures.atOnce,
    (share) => `${share.toFixed(1)} %`,
  ),
  column('nodes', 'Nodes', ({ figures }) => figures?.nodes, String),
  extra(column('requests', 'Requests', ({ figures }) => figures?.requests, String)),
  extra(
    column(
      ...(['p95', 'P95'] as const),
      ({ figures }) => figures && figures.p95Ms / 1000,
      (seconds) => durationText(seconds),
    ),
  ),
  column(
    'idle_hours',
    'Idle Node-Hours',
    ({ figures }) => figures?.idleHours,
    (hours) => hours.toFixed(1),
  ),
  extra(
    column(
      'saved_hours',
      'Saved',
      ({ savedHours }) => savedHours,
      (hours) => hours.toFixed(1),
    ),
  ),
  extra(
    column(
      'saved_cost',
      'Saved Cost',
      ({ savedHours, price }) => (savedHours !== undefined && price !== undefined ? savedHours * price : undefined),
      (cost) => cost.toFixed(2),
    ),
  ),
  {
    ...{ key: 'proposed', header: 'Proposed', level: 'brief' },
    value: ({ isProposed }) => isProposed,
    cell: ({ isProposed }) => (isProposed ? 'yes' : ''),
  },
  { key: 'reason', header: 'Reason', level: 'extra', value: ({ reason }) => reason ?? null },
];
