import type { LabelConfig } from '@nodepool/core';
import type { StandbyGoal } from '@nodepool/history';
import { last } from '../command/command.js';
import { UsageError } from '../command/usage-error.js';

/** The value of `--goal`. */
export function parseGoal(values: Parameters<typeof last>[0]): number {
  const goal = last(values, 'goal') as number;
  if (!(goal > 0 && goal < 100)) throw new UsageError('--goal needs a percentage above 0 and below 100, such as 95');
  return goal;
}

/** What the standby nodes of a label are to give: what the configuration says, else the options of the command. */
export function goalOf(label: LabelConfig | undefined, given: StandbyGoal): StandbyGoal {
  const { standby } = label ?? {};
  if (!standby) return given;
  const { timeZone, atMost, goal = given.goal } = standby;
  return { ...given, timeZone, atMost, goal };
}

/** The configured standby nodes of a label; `undefined`: the configuration does not have it. */
export function labelOf(label: LabelConfig): { settings: LabelConfig['standby']; minReady: number };
export function labelOf(
  label: LabelConfig | undefined,
): { settings: LabelConfig['standby']; minReady: number } | undefined;
export function labelOf(label: LabelConfig | undefined) {
  return label && { settings: label.standby, minReady: Math.max(0, label.minReady) };
}
