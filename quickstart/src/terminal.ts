/** Lines that stay below all others on a terminal: the picture of what happens. */
let picture: readonly string[] = [];
let shownLines = 0;

/** Seconds since this process started, as a fixed-width column. */
function elapsed(): string {
  return `${(performance.now() / 1000).toFixed(1).padStart(6)} s`;
}

/** Prints lines, each with the time since the start. */
export function say(text: string): void {
  printAbove(text.split('\n').map((line) => `${elapsed()}  ${line}`));
}

/** Prints lines as they are. */
export function show(text: string): void {
  printAbove(text.split('\n'));
}

/** Draws these lines below the others, in place of those drawn before. Only a terminal shows them. */
export function draw(lines: readonly string[]): void {
  picture = process.stdout.isTTY ? lines.map((line) => line.slice(0, process.stdout.columns - 1)) : [];
  printAbove([]);
}

function printAbove(lines: readonly string[]): void {
  const erase = shownLines > 0 ? `\u001b[${shownLines}A\u001b[J` : '';
  process.stdout.write(erase + [...lines, ...picture].map((line) => `${line}\n`).join(''));
  shownLines = picture.length;
}

/** An end the user can do something about: its message is all there is to print. */
export class QuickStartError extends Error {}
