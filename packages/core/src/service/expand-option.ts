/** What an abbreviated option stands for. */
export type ExpandedOption = { readonly word: string } | { readonly ambiguous: readonly string[] };

/**
 * Completes a long option that is abbreviated, as the original's programs do: `--det` is `--detail`.
 * @param word - of a command line; `--name=value` is completed, too, and everything else stays as it is
 * @param groups - names without dashes; the options of a later group count only when none of an earlier one begins so
 */
export function expandOption(word: string, groups: readonly Iterable<string>[]): ExpandedOption {
  const [, begin, value = ''] = /^--([^=]+)(=.*)?$/s.exec(word) ?? [];
  const names = groups.map((group) => [...group]);
  if (begin === undefined || names.flat().includes(begin)) return { word };
  const found = names.map((group) => group.filter((name) => name.length > 1 && name.startsWith(begin)));
  const [first, ...others] = found.find((group) => group.length > 0) ?? [];
  if (first === undefined) return { word };
  if (others.length > 0) return { ambiguous: [first, ...others].map((name) => `--${name}`) };
  return { word: `--${first}${value}` };
}

/** What is said of an abbreviation that several options begin with. */
export function ambiguousOptionText(word: string, options: readonly string[]): string {
  return `ambiguous option ${word.replace(/=.*$/s, '')}: could be ${options.join(', ')}`;
}
