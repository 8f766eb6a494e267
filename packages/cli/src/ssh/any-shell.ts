import { shellWord } from '@nodepool/core/service';

/** Means the same between single quotes in all shells; `!`, `\` and line breaks do not. */
const PLAIN = /[\w @+:,./=-]/;
/** Some shells take no longer words. */
const LONGEST_WORD = 800;

/** @returns the text in the form of `printf %b` */
function encode(text: string): string[] {
  return Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    return byte < 0x80 && PLAIN.test(character) ? character : String.raw`\0${byte.toString(8).padStart(3, '0')}`;
  });
}

/** Runs a command with the login shell of a machine, whichever that is: csh, tcsh and fish quote otherwise than `sh`. */
export function forAnyShell(command: readonly string[]): string {
  const words = [''];
  for (const part of encode(`exec ${command.map(shellWord).join(' ')}`)) {
    if ((words.at(-1) ?? '').length + part.length > LONGEST_WORD) words.push('');
    words[words.length - 1] += part;
  }
  return `exec sh -c 'eval "$(printf %b "$@")"' sh ${words.map((word) => `'${word}'`).join(' ')}`;
}
