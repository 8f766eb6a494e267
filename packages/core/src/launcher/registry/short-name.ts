/** Host name up to the first dot. */
export function shortName(hostname: string): string {
  return hostname.split('.', 1)[0] ?? hostname;
}
