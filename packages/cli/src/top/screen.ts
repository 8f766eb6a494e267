import type { ReadStream, WriteStream } from 'node:tty';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';

/** Terminal of a {@link Screen}, and its callbacks. */
export interface ScreenOptions {
  readonly output: WriteStream;
  /** Keys are read where it is a terminal. */
  readonly input: ReadStream;
  /** Called when the user quits. */
  readonly quit: () => void;
  /** Called to redraw after a resize, and when the stopped program continues. */
  readonly redraw: () => void;
}

/** A full-screen view that restores the terminal however the program ends. */
export class Screen {
  readonly #options: ScreenOptions;
  #isOpen = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  open(): void {
    const { input, output } = this.#options;
    this.#enter();
    output.on('resize', this.#options.redraw);
    process.on('exit', this.#leave);
    process.on('SIGCONT', this.#continued);
    if (!input.isTTY) return;
    input.on('data', this.#key);
    input.resume();
  }

  /** Redraws in place, without flicker. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const text = lines.map((line) => `${line}${REST_OF_LINE}`).join('\r\n');
    this.#options.output.write(`${HOME}${text}${REST_OF_SCREEN}`);
  }

  close(): void {
    const { input, output, redraw } = this.#options;
    output.off('resize', redraw);
    process.off('exit', this.#leave);
    process.off('SIGCONT', this.#continued);
    input.off('data', this.#key);
    input.pause();
    this.#leave();
  }

  #enter(): void {
    const { input, output } = this.#options;
    this.#isOpen = true;
    if (input.isTTY) input.setRawMode(true);
    output.write(ENTER);
  }

  readonly #leave = () => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { input, output } = this.#options;
    output.write(LEAVE);
    if (input.isTTY) input.setRawMode(false);
  };

  readonly #continued = () => {
    if (!this.#isOpen) this.#enter();
    this.#options.redraw();
  };

  readonly #key = (data: Buffer) => {
    const keys = data.toString();
    if (keys === 'q' || keys === 'Q' || keys.includes(CTRL_C)) this.#options.quit();
    else if (keys.includes(CTRL_Z)) {
      this.#leave();
      process.kill(process.pid, 'SIGSTOP');
    }
  };
}
