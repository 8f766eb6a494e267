import { didYouMean } from '../../text/suggest.js';

/** Lists of up to this length are shown as they are. */
const FEW = 4;

/**
 * Labels for people, in the order they first appear: `small, big`, or `5000 x big, 2 x small` where many are repeated.
 * @param separator - default `, `
 */
export function labelsToText(labels: readonly string[], separator = ', '): string {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (labels.length <= FEW || counts.size === labels.length) return labels.join(separator);
  return [...counts].map(([label, count]) => (count === 1 ? label : `${count} x ${label}`)).join(separator);
}

/** Number of names that a text lists. */
const NAMED = 8;

/**
 * Hints for labels that no pool has: `; no pool has "smal", did you mean "small"? Labels: big, small`.
 * @returns an empty text if a pool has each of them
 */
export function unknownLabelsText(labels: readonly string[], known: ReadonlySet<string>): string {
  const unknown = labels.filter((label) => !known.has(label));
  if (unknown.length === 0) return '';
  if (known.size === 0) return '; no pool has any label';
  const hints = unknown.map((label) => `no pool has "${label}"${didYouMean(label, known)}`);
  const names = [...known].sort();
  const rest = names.length > NAMED ? `, and ${names.length - NAMED} more` : '';
  const end = hints.at(-1)?.endsWith('?') ? ' Labels' : '; labels';
  return `; ${hints.join(', ')}${end}: ${names.slice(0, NAMED).join(', ')}${rest}`;
}

/** An amount of a resource: `2 instances`, `1 instance`, `4096 ram`. */
export function amountText(amount: number, resource: string): string {
  return `${amount} ${amount === 1 ? resource.replace(/s$/, '') : resource}`;
}

const MS_PER_SECOND = 1_000;
/** The wording in the launch error of a node. */
const NEXT_ATTEMPT = /the next one begins at (\d{4}-\S+Z)/;
const NEXT_PROBE = /next probe at (\S+Z)/;
const LAST_FAILURE = /the last at (\S+Z)/;

/** When a failing provider is probed next, as an absolute time, for verdicts that are stored. */
export function probeTime(nextProbeMs: number | undefined): string {
  return nextProbeMs === undefined
    ? 'a probe is due or in progress'
    : `next probe at ${new Date(nextProbeMs).toISOString()}`;
}

/** The time until a failing provider is probed next. */
export function timeToProbe(nextProbeMs: number | undefined, nowMs: number): string {
  if (nextProbeMs === undefined) return probeTime(nextProbeMs);
  const seconds = Math.ceil((nextProbeMs - nowMs) / MS_PER_SECOND);
  return seconds > 0 ? `next probe in ${seconds} s` : 'next probe now';
}

/** When a launch failed last, as an absolute time, for verdicts that are stored. */
export function failureTime(failedMs: number): string {
  return `the last at ${new Date(failedMs).toISOString()}`;
}

/** The text of a verdict with {@link timeToProbe} in place of {@link probeTime}, and ages in place of {@link failureTime}. */
export function withTimesFromNow(text: string, nowMs: number): string {
  return text
    .replace(NEXT_ATTEMPT, (_, time: string) => {
      const seconds = Math.ceil((Date.parse(time) - nowMs) / MS_PER_SECOND);
      return seconds > 0 ? `the next one begins in ${seconds} s` : 'the next one has begun';
    })
    .replace(NEXT_PROBE, (_, time: string) => timeToProbe(Date.parse(time), nowMs))
    .replace(LAST_FAILURE, (_, time: string) => {
      const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / MS_PER_SECOND));
      return `the last ${seconds} s ago`;
    });
}
