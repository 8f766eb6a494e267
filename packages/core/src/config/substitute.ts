/** A text after substitution, with the way back to the text as written. */
export interface SubstitutedText {
  readonly text: string;
  /** Offset in the text as written for an offset in the substituted one. Inside a value: where its reference begins. */
  originalOffset(offset: number): number;
  /** Whether a range of the substituted text holds something that came from the environment. */
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
 * Replaces every `%(NODEPOOL_X)` by that environment variable's value, inserted raw. References to variables that do not
 * exist, or whose name does not begin with `NODEPOOL_`, stay as they are.
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
