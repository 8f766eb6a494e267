/** The last result: one change of a node needs the same key many times, and building a string costs more than comparing. */
let last = { provider: '', pool: '', key: '\0' };

/** Key of a pool in maps; names cannot contain NUL. */
export function poolKey(provider: string, pool: string): string {
  if (last.provider !== provider || last.pool !== pool) last = { provider, pool, key: `${provider}\0${pool}` };
  return last.key;
}
