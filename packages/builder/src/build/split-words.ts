/** A run of characters that means the same: in single quotes, in double quotes, behind a backslash, blank, or plain. */
const PIECE = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|(\s+)|([^\s'"\\]+)/gy;

/**
 * Splits a command into words as a POSIX shell does, with quotes and backslashes. Nothing else has a meaning.
 * @returns `undefined` when a quotation or a backslash at the end is not complete
 */
export function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const [piece, single, double, escaped, blanks, plain] of text.matchAll(PIECE)) {
    end += piece.length;
    if (blanks === undefined) {
      word = (word ?? '') + (single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? escaped ?? plain ?? '');
    } else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return end === text.length ? words : undefined;
}
