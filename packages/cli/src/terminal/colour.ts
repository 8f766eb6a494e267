const CODES = { red: 31, green: 32, yellow: 33, bold: 1, dim: 2 } as const;
/** A colour or style of text. */
export type Colour = keyof typeof CODES;

/** Colours are for people: only on a terminal that can show them, and not when NO_COLOR is set. */
export function usesColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** The text in a colour, or as it is. */
export function coloured(text: string, colour: Colour, isUsed: boolean): string {
  return isUsed ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
}
