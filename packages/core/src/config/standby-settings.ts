import { listOf, mapOf, numberOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { StandbySettings } from '../contract/config.js';
import type { SenseCheck } from './check-sense.js';
import { integer, section } from './schema-parts.js';

const AT_MOST = 100;

/** Schema of `standby` of a label. */
export const STANDBY: JsonObject = {
  ...section('Standby', {
    'target-wait': {
      type: 'number',
      minimum: 0,
      description: 'Wait that 95 of 100 requests do not exceed, in seconds; either this or `idle-budget`',
      'x-default': 'none',
    },
    'idle-budget': {
      type: 'number',
      minimum: 0,
      description: 'Node-hours a day that standby nodes may be idle',
      'x-default': 'none',
    },
    'at-most': integer('Largest number of standby nodes', { default: AT_MOST }, { minimum: 0 }),
  }),
  description: 'Standby nodes that follow demand; `min-ready` applies while there is no forecast',
  'x-default': 'none: `min-ready`',
};

/** @param section - validated against {@link STANDBY} */
export function readStandby(section: Json | undefined): StandbySettings | undefined {
  const given = mapOf(section);
  const [targetWaitS, idleBudget] = ['target-wait', 'idle-budget'].map((key) => numberOf(given[key]));
  if (targetWaitS === undefined && idleBudget === undefined) return undefined;
  const targetWaitMs = targetWaitS === undefined ? undefined : targetWaitS * 1000;
  return { targetWaitMs, idleBudget, atMost: numberOf(given['at-most']) ?? AT_MOST };
}

/** Reports labels whose `standby` has no goal, or two, and disabled labels that have one. */
export function checkStandbyGoals(top: JsonObject, { document, problems }: SenseCheck): void {
  for (const [index, label] of listOf(top['labels']).entries()) {
    const entry = mapOf(label);
    if (entry['standby'] === undefined || entry['standby'] === null) continue;
    const goals = ['target-wait', 'idle-budget'].filter((key) => mapOf(entry['standby'])[key] !== undefined);
    const path = ['labels', index, 'standby'];
    if (goals.length !== 1) {
      const found = goals.length === 0 ? 'it has none' : 'it has both';
      problems.add(document, path, `standby needs one goal, target-wait or idle-budget: ${found}`);
    } else if ((numberOf(entry['min-ready']) ?? 0) < 0) {
      const message = 'min-ready -1 switches the label off, so standby has no effect: remove one of them';
      problems.add(document, path, message, { severity: 'warning' });
    }
  }
}
