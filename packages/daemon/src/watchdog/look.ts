/**
 * Counts looks at a counter that the watched thread raises.
 * @param first - what the counter shows now
 * @param limit - looks in a row without a beat after which the thread counts as stuck
 * @returns to be called at each look with what the counter shows then; whether the thread is stuck
 */
export function countLooks(first: number, limit: number): (beats: number) => boolean {
  let last = first;
  let missed = 0;
  return (beats) => {
    missed = beats === last ? missed + 1 : 0;
    last = beats;
    return missed >= limit;
  };
}
