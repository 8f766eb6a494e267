import { listOf, mapOf, numberOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { StandbySettings } from '../contract/config.js';
import type { SenseCheck } from './check-sense.js';
import { integer, section } from './schema-parts.js';

const AT_MOST = 100;

/** Schema of `standby` of a label. */
export const STANDBY: JsonObject = {
  ...section('Standby', {
    'target-wait': {
      type: ['number', 'string'],
      minimum: 0,
      'x-message': 'expected seconds, or a duration such as 90s, 10m or 1h30m',
      pattern: '^(\\d+(\\.\\d+)?[smh])+$',
      description:
        'Wait that 95 of 100 requests do not exceed: seconds, or a duration such as `5s` or `1m30s`; either this or `idle-budget`',
      'x-default': 'none',
      examples: [5, '5s'],
    },
    'idle-budget': {
      type: 'number',
      minimum: 0,
      description: 'Node-hours a day that standby nodes may be idle',
      'x-default': 'none',
    },
    keep: {
      enum: ['running', 'stopped'],
      description: 'Whether standby nodes run, or are stopped after their boot and started for a request',
      default: 'running',
    },
    'at-most': integer('Largest number of standby nodes', { default: AT_MOST }, { minimum: 0 }),
  }),
  description: 'Standby nodes that follow demand; `min-ready` applies while there is no forecast',
  'x-default': 'none: `min-ready`',
};

/** @param section - validated against {@link STANDBY} */
export function readStandby(section: Json | undefined): StandbySettings | undefined {
  const given = mapOf(section);
  const targetWaitMs = readDuration(given['target-wait']);
  const idleBudget = numberOf(given['idle-budget']);
  if (targetWaitMs === undefined && idleBudget === undefined) return undefined;
  return { targetWaitMs, idleBudget, atMost: numberOf(given['at-most']) ?? AT_MOST };
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a number of seconds, or of a duration that matches the schema. */
function readDuration(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return typeof value === 'number' ? value * 1000 : undefined;
  const parts = value.matchAll(/([\d.]+)([smh])/g);
  return [...parts].reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS[unit] ?? 0), 0);
}

/** @param section - validated against {@link STANDBY} */
export function readKeep(section: Json | undefined): 'stopped' | undefined {
  return mapOf(section)['keep'] === 'stopped' ? 'stopped' : undefined;
}

/** Reports labels whose `standby` has no goal, or two, and disabled labels that have one. `keep` needs no goal. */
export function checkStandbyGoals(top: JsonObject, { document, problems }: SenseCheck): void {
  for (const [index, label] of listOf(top['labels']).entries()) {
    const entry = mapOf(label);
    if (entry['standby'] === undefined || entry['standby'] === null) continue;
    const goals = ['target-wait', 'idle-budget'].filter((key) => mapOf(entry['standby'])[key] !== undefined);
    const path = ['labels', index, 'standby'];
    const isKeepOnly = goals.length === 0 && mapOf(entry['standby'])['keep'] !== undefined;
    if (goals.length !== 1 && !isKeepOnly) {
      const found = goals.length === 0 ? 'it has none' : 'it has both';
      problems.add(document, path, `standby needs one goal, target-wait or idle-budget: ${found}`);
      continue;
    }
    const message = doubtOf(entry);
    if (message !== undefined) problems.add(document, path, message, { severity: 'warning' });
  }
}

function doubtOf(label: JsonObject): string | undefined {
  const minReady = numberOf(label['min-ready']) ?? 0;
  const atMost = numberOf(mapOf(label['standby'])['at-most']) ?? AT_MOST;
  if (minReady < 0) return 'min-ready -1 switches the label off, so standby has no effect: remove one of them';
  if (readStandby(label['standby']) === undefined) return undefined;
  if (minReady > atMost)
    return `at-most ${atMost} is below min-ready ${minReady}, which is kept while there is no forecast`;
  return atMost === 0 ? 'at-most 0 keeps no standby node by forecast: leave standby out, or raise at-most' : undefined;
}
