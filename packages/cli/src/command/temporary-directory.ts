import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** Paths that ssh takes literally in options: it splits at blanks, and expands `%` and `$`. */
const PLAIN_PATH = /^[\w./@:+-]+$/;

/** `TMPDIR`, unless an option of ssh cannot name a file in it. */
export function temporaryDirectory(): string {
  const directory = resolve(tmpdir());
  return PLAIN_PATH.test(directory) ? directory : '/tmp';
}
