/** A text after substitution, with a mapping to the text as written. */
export interface SubstitutedText {
  readonly text: string;
  /** Maps an offset to the text as written. An offset inside a value maps to the start of its reference. */
  originalOffset(offset: number): number;
  /** Whether a range of the substituted text contains a value from the environment. */
  isSubstituted(start: number, end: number): boolean;
}

/** One replaced reference: its range in the text as written and in the result. */
interface Replacement {
  from: number;
  fromEnd: number;
  to: number;
  toEnd: number;
}

/**
 * Replaces every `%(NODEPOOL_X)` by the unmodified value of the environment variable. References to unset variables, or to
 * names without the prefix `NODEPOOL_`, are kept.
 */
export function substituteEnvironment(
  written: string,
  env: Readonly<Record<string, string | undefined>>,
): SubstitutedText {
  const replacements: Replacement[] = [];
  let shift = 0;
  const text = written.replace(/%\((NODEPOOL_[^)\n]*)\)/g, (reference: string, name: string, from: number) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined) return reference;
    const to = from + shift;
    replacements.push({ from, fromEnd: from + reference.length, to, toEnd: to + value.length });
    shift += value.length - reference.length;
    return value;
  });
  return {
    text,
    originalOffset(offset) {
      const last = replacements.findLast((replacement) => replacement.to <= offset);
      if (last === undefined) return offset;
      return offset < last.toEnd ? last.from : offset - last.toEnd + last.fromEnd;
    },
    isSubstituted: (start, end) => replacements.some(({ to, toEnd }) => to < end && toEnd > start),
  };
}
