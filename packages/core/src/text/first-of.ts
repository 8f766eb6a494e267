/** The first texts, and how many more there are: `a, b and 3 more`, or `a; b; and 3 more`. */
export function firstOf(texts: readonly string[], most: number, separator: ', ' | '; ' = ', '): string {
  const shown = texts.slice(0, most).join(separator);
  if (texts.length <= most) return shown;
  return `${shown}${separator === ', ' ? ' ' : separator}and ${texts.length - most} more`;
}
