/**
 * Whether a label matches a pattern, in which `*` stands for any characters. Takes each part between two stars where it is found first,
 * which finds every match without going back.
 */
export function matchesPattern(label: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return label === pattern;
  if (!label.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = label.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return label.length - last.length >= at && label.endsWith(last);
}
