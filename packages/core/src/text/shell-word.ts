const PLAIN_WORD = /^[\w@+:,./-]+$/;

/** Quotes a word for a POSIX shell. */
export function shellWord(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
