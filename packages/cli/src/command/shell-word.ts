const PLAIN_WORD = /^[\w@+:,./-]+$/;

/** A word that a POSIX shell takes as it is. */
export function shellWord(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
