/** What Python's `repr()` escapes and could drive a terminal: controls, format marks, separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0]/gu;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Nearly all texts: they need no look at each character's kind. */
const PLAIN = /^[ -~]*$/;
const LINES = /[^\n\t]+/g;

/** Whether a text is of printable ASCII alone: as many columns wide as it is long, with nothing to escape on a terminal. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** The text with control characters made visible, so that stored text can never move a terminal's cursor. */
export function escapeControlCharacters(text: string): string {
  return isPlain(text) ? text : text.replace(UNPRINTABLE, escapeCharacter);
}

/** As {@link escapeControlCharacters}, for text of several lines: line ends and tabs stay. */
export function escapeForTerminal(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(LINES, escapeControlCharacters);
}

function escapeCharacter(character: string): string {
  const named = NAMED_ESCAPES[character];
  if (named !== undefined) return named;
  const code = character.codePointAt(0) ?? 0;
  const hex = (width: number) => code.toString(16).padStart(width, '0');
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x1_0000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
