import { isIP } from 'node:net';

/** Groups of a /64: what a provider gives to one customer, who has all addresses in it. */
const GROUPS = 4;

/** What limits for each client count by: an IPv4 address, or the /64 of an IPv6 address. */
export function shareOf(address: string): string {
  const plain = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  // an IPv4 address at the end takes two groups, and is never among the first four
  const after = tail === undefined || tail === '' ? [] : tail.replace(/[\d.]+\.\d+$/, '0:0').split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
