/** Characters that Python's `repr()` escapes and that may control a terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0]/gu;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Fast path: nearly all texts match. */
const PLAIN = /^[ -~]*$/;
const LINES = /[^\n\t]+/g;

/** Whether a text is printable ASCII: its width equals its length, and nothing has to be escaped. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** The text with visible control characters, so that stored text cannot control a terminal. */
export function escapeControlCharacters(text: string): string {
  return isPlain(text) ? text : text.replace(UNPRINTABLE, escapeCharacter);
}

/** As {@link escapeControlCharacters}, but keeps line ends and tabs. */
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
