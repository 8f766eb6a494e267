import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { CliError } from '../command/errors.js';

/** Exit status of {@link AFTER_MARKER} if there was no marker. */
const NO_MARKER = 3;
/**
 * Prints what follows a line of its input. If there is none, the first lines go to standard error, as they may say why. A signal is for
 * others: it ends with its input. Arguments: the line, what its input comes from.
 */
const AFTER_MARKER = `
trap '' INT TERM HUP
lines=0 seen=
while IFS= read -r line || [ -n "$line" ]; do
  [ "$line" = "$1" ] && exec cat
  lines=$((lines + 1)); [ $lines -gt 5 ] || seen="$seen$line "
done
[ -z "$seen" ] || printf 'nodepool: %s printed: "%s"\\n' "$2" "$(printf %s "$seen" | LC_ALL=C tr -cd ' -~' | cut -c 1-500)" >&2
exit ${NO_MARKER}`;

/**
 * The output of a script on a machine without what the start files of the login shell have printed before: the script prints a line that
 * they cannot know. A process of its own passes it on, so that a slow reader holds up the script, as without it, and not this process.
 */
export class MarkedOutput {
  /** What the script prints first. */
  readonly marker = `nodepool-${randomBytes(12).toString('hex')}`;
  readonly #where: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<number | null>;

  /** @param output - where it goes @throws CliError no process can be started */
  constructor(where: string, output: 'inherit' | 'pipe') {
    this.#where = where;
    const args = ['-c', AFTER_MARKER, 'sh', this.marker, `the login shell of ${where}`];
    this.#process = spawn('sh', args, { stdio: ['pipe', output, 'inherit'] });
    this.#ended = new Promise((resolve, reject) => {
      this.#process.once('error', (error) => reject(new CliError(`Cannot run sh: ${error.message}`, { cause: error })));
      this.#process.once('close', resolve);
    });
    this.#ended.catch(() => undefined); // reported by `end`
    this.#process.stdin?.on('error', () => undefined); // it has ended, as when its reader has
  }

  /** Standard output for the process whose output it is. */
  get input(): Writable {
    return this.#process.stdin as Writable;
  }

  /** The output, if it goes nowhere else. */
  get output(): Readable {
    return this.#process.stdout as Readable;
  }

  /** To be called when the process has its standard output: the output ends with it. */
  release(): void {
    this.#process.stdin?.destroy();
  }

  /** Waits for the end of the output. @returns why there was none; `undefined` if the script has begun */
  async end(): Promise<string | undefined> {
    this.release();
    if ((await this.#ended) !== NO_MARKER) return undefined;
    return (
      `the login shell of ${this.#where} did not begin with what it should run: the account may have a shell that runs no ` +
      'other program with exec, such as nologin or rbash, or a start file such as .bashrc, .profile or .cshrc ends it'
    );
  }
}
