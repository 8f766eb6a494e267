import { AMBIGUOUS_ROWS } from './ambiguous-rows.js';
import { CLOUD_ROWS } from './cloud-rows.js';
import { CONFIGURATION_ROWS } from './configuration-rows.js';
import { LAUNCHER_ROWS } from './launcher-rows.js';
import { RESOURCE_ROWS } from './resource-rows.js';
import type { Row } from './row.js';

/** The conditions whose advice is followed here. */
export const ROWS: readonly Row[] = [
  ...CONFIGURATION_ROWS,
  ...LAUNCHER_ROWS,
  ...CLOUD_ROWS,
  ...AMBIGUOUS_ROWS,
  ...RESOURCE_ROWS,
];
