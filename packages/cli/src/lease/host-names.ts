import type { LeasedNode } from './leased-node.js';

/**
 * Names for the nodes in the order asked for: the label and a number, `small-1`, `small-2`. Anything but letters, digits,
 * dots, dashes and underscores becomes `_`: Ansible reads ranges and ports out of host names.
 */
export function hostNames(nodes: readonly Pick<LeasedNode, 'label'>[]): string[] {
  const used = new Map<string, number>();
  return nodes.map(({ label }) => {
    const base = label.replaceAll(/[^A-Za-z0-9_.-]/g, '_');
    const number = (used.get(base) ?? 0) + 1;
    used.set(base, number);
    return `${base}-${number}`;
  });
}
