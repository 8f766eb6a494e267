import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less than this is left to V8's own schedule. */
const WORTH_IT_BYTES = 64 * 1024 * 1024;

/**
 * Collects garbage now when there is likely to be a lot. Reading a large configuration leaves more than a hundred
 * megabytes behind, which V8, with little else to do in an idle service, may keep for hours.
 */
export function trimHeap(): void {
  if (process.memoryUsage().heapUsed < WORTH_IT_BYTES) return;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collect();
}
