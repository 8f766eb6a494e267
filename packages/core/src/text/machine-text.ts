import { escapeControlCharacters } from '@nodepool/zk-protocol';

/** Longest text of a machine in a field of the log. */
const LONGEST = 200;

/**
 * A text that a machine has made, for the field `machineSaid` of the log: cut, and without control characters. It goes nowhere
 * else, as the owner of the machine could write advice in it.
 */
export function machineText(text: string, longest = LONGEST): string {
  const escaped = escapeControlCharacters(text.slice(0, longest + 1).trim());
  return escaped.length > longest ? `${escaped.slice(0, longest - 3)}...` : escaped;
}
