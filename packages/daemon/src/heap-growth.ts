import { setFlagsFromString } from 'node:v8';

/** Limit of heap growth between two full collections, in percent of the live heap. */
const GROWTH_PERCENT = 100;

/**
 * Limits garbage. By default V8 lets the heap grow to four times its live size before a full collection, especially on a busy
 * machine, which looks like a leak. docs/measurements.md has the costs and savings.
 * @param execArgv - flags of this process; `--heap-growing-percent` set by an operator stays in force
 * @returns whether the growth is limited now
 */
export function boundHeapGrowth(execArgv: readonly string[]): boolean {
  if (execArgv.some((flag) => /^--heap[-_]growing[-_]percent\b/.test(flag))) return false;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  return true;
}
