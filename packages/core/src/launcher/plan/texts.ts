/** Lists up to this long are shown as they are. */
const FEW = 4;

/**
 * Labels for people, in the order they first appear: `small, big`, or `5000 x big, 2 x small` where many are repeated.
 * @param separator - default `, `
 */
export function labelsToText(labels: readonly string[], separator = ', '): string {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (labels.length <= FEW || counts.size === labels.length) return labels.join(separator);
  return [...counts].map(([label, count]) => (count === 1 ? label : `${count} x ${label}`)).join(separator);
}

/** An amount of a resource: `2 instances`, `1 instance`, `4096 ram`. */
export function amountText(amount: number, resource: string): string {
  return `${amount} ${amount === 1 ? resource.replace(/s$/, '') : resource}`;
}
