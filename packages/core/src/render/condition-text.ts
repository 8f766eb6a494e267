import type { Condition } from '../contract/condition.js';
import { timeToProbe } from '../launcher/plan/texts.js';
import { durationText } from '../text/duration-text.js';

/** Conditions are published within a minute. Older observations are marked with their age. */
const OLD_MS = 120_000;
const MS_PER_SECOND = 1_000;

/** Subject of a condition: `label "small"`, `node 0000000007`. */
function subjectOf({ kind, name }: Pick<Condition, 'kind' | 'name'>): string {
  return kind === 'node' ? `node ${name}` : `${kind} "${name}"`;
}

/** Formats a condition as one sentence: subject, message, age, and the next retry of a failing provider. */
export function conditionText(condition: Condition, nowMs: number): string {
  const notes = [...errorNote(condition), ...ageNotes(condition, nowMs), ...probeNote(condition, nowMs)];
  return `${subjectOf(condition)}: ${condition.message}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}

/** Recommended action for a condition. */
export function nextStepText({ nextStep }: Pick<Condition, 'nextStep'>): string {
  return nextStep === '' ? 'nothing: it ends by itself' : nextStep;
}

/** Shows the last error, for errors whose text varies although the cause is the same. */
function errorNote({ evidence: { lastError } }: Condition): string[] {
  return typeof lastError === 'string' ? [`last error: ${lastError}`] : [];
}

function ageNotes({ status, lastSeenMs }: Condition, nowMs: number): string[] {
  const ageMs = nowMs - lastSeenMs;
  const age = ageMs > OLD_MS ? [`last seen ${durationText(ageMs / MS_PER_SECOND)} ago`] : [];
  return status === 'unknown' ? [...age, 'it may be over: its service does not answer'] : age;
}

function probeNote({ evidence }: Condition, nowMs: number): string[] {
  const { nextProbe } = evidence;
  if (nextProbe === undefined) return [];
  return [timeToProbe(typeof nextProbe === 'number' ? nextProbe * MS_PER_SECOND : undefined, nowMs)];
}
