import { mapOf, numberOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { HistorySettings } from '../contract/config.js';
import { flag, integer, name, section } from './schema-parts.js';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const DEFAULT_SIZE_MIB = 200;
const DEFAULT_AGE_HOURS = 24;

/** Schema of `history`: retention of records of past requests and nodes. */
export const HISTORY: JsonObject = {
  ...section('History', {
    enabled: flag('Whether a record is kept', { default: true }),
    directory: name('Folder of the record, for one launcher alone', {
      otherwise: '`history` in the state directory',
      examples: ['/var/lib/nodepool/history'],
    }),
    'max-size': integer(
      'Size at which the oldest part is deleted, in MiB',
      { default: DEFAULT_SIZE_MIB },
      { minimum: 1 },
    ),
    'max-age': integer('Age at which a part is deleted, in hours', { default: DEFAULT_AGE_HOURS }, { minimum: 1 }),
  }),
  description: 'What a launcher keeps on record of requests and nodes, for `nodepool timeline`',
  'x-default': 'as below',
};

/** @param section - validated against {@link HISTORY} */
export function readHistory(section: Json | undefined): HistorySettings {
  const given = mapOf(section);
  return {
    enabled: given['enabled'] !== false,
    directory: textOf(given['directory']),
    maxBytes: (numberOf(given['max-size']) ?? DEFAULT_SIZE_MIB) * MIB,
    maxAgeMs: (numberOf(given['max-age']) ?? DEFAULT_AGE_HOURS) * HOUR_MS,
  };
}
