import { LISTS } from './lists.js';
import { LOADING } from './loading.js';
import { CONFIG } from './config.js';
import { CREATE } from './create.js';
import { DELETE } from './delete.js';
import { ERRORS } from './errors.js';
import { QUOTA } from './quota.js';
import { RESTART } from './restart.js';
import { NOTHING_LEFT } from './nothing-left.js';
import { REUSE } from './reuse.js';
import { IMAGES } from './images.js';
import { SHUTDOWN } from './shutdown.js';
import { STOPPED } from './stopped.js';
import { USABLE } from './usable.js';
import type { BrokenDriver } from './broken-driver.js';

/** Drivers that break one rule each, in the order of the contract's parts. */
export const BROKEN: readonly BrokenDriver[] = [
  ...LOADING,
  ...CONFIG,
  ...CREATE,
  ...LISTS,
  ...DELETE,
  ...ERRORS,
  ...QUOTA,
  ...RESTART,
  ...STOPPED,
  ...USABLE,
  ...NOTHING_LEFT,
  ...REUSE,
  ...IMAGES,
  ...SHUTDOWN,
];
