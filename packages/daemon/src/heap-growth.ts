import { setFlagsFromString } from 'node:v8';

/** How far the heap may grow between two full collections, in percent of what the first left alive. */
const GROWTH_PERCENT = 100;

/**
 * Keeps garbage from piling up. By itself V8 lets a heap grow to as much as four times what is alive in it before it
 * collects, the more so the less the machine lets it work: on a busy one a service would look as if it leaked. See
 * docs/performance.md for what this costs and saves.
 * @param execArgv - the flags this process was started with; an operator's own `--heap-growing-percent` stays in force
 * @returns whether the growth is bounded now
 */
export function boundHeapGrowth(execArgv: readonly string[]): boolean {
  if (execArgv.some((flag) => /^--heap[-_]growing[-_]percent\b/.test(flag))) return false;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  return true;
}
