/** Longest class, and longest function without a reason, in lines. */
export const LONGEST: { class: number; function: number };
export const REASON: string;
/** Classes and functions that are longer than they may be, of one package. */
export function tooLong(
  packageFolder: string,
): { kind: 'class' | 'function'; lines: number; name: string; file: string }[];
/** What authors of drivers copy. */
export function examples(): string[];
/** Every package, tool, and the programs that test them. */
export function allPackages(): string[];
