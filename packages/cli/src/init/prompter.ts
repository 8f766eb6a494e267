import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { CliError } from '../command/errors.js';

/** Asks questions at the terminal. Ctrl-C ends the command, as it does elsewhere. */
export class Prompter {
  readonly #terminal: Interface;
  readonly #signal: AbortSignal;
  readonly #ended: Promise<never>;

  /** @param signal - aborted by SIGINT */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#terminal = createInterface({ input: process.stdin, output: process.stdout });
    // while lines are read, the terminal hands Ctrl-C over as a key
    this.#terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    this.#ended = new Promise((_resolve, reject) => {
      this.#terminal.once('close', () => reject(new CliError('The input ended; no file was written')));
    });
    this.#ended.catch(() => undefined);
  }

  /** @param fallback - the answer that an empty line stands for */
  async ask(question: string, fallback?: string): Promise<string> {
    const shown = fallback === undefined ? `${question}: ` : `${question} [${fallback}]: `;
    try {
      const answer = await Promise.race([this.#terminal.question(shown, { signal: this.#signal }), this.#ended]);
      return answer.trim() || (fallback ?? '');
    } catch (error) {
      this.#signal.throwIfAborted();
      throw error;
    }
  }

  close(): void {
    this.#terminal.close();
  }
}
