/** The pair that was asked for last: a node's change asks for the same one many times, and to make and hash a text costs more. */
let last = { provider: '', pool: '', key: '\0' };

/** Key of a provider-pool pair; a NUL cannot be part of a name. */
export function poolKey(provider: string, pool: string): string {
  if (last.provider !== provider || last.pool !== pool) last = { provider, pool, key: `${provider}\0${pool}` };
  return last.key;
}
