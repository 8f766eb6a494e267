/** Seconds since this process started, as a fixed-width column. */
function elapsed(): string {
  return `${(performance.now() / 1000).toFixed(3).padStart(8)} s`;
}

/** Prints lines, each with the time since the start. */
export function say(text: string): void {
  for (const line of text.split('\n')) console.log(`${elapsed()}  ${line}`);
}

/** Prints lines as they are, in the column of {@link say}. */
export function show(text: string): void {
  for (const line of text.split('\n')) console.log(`${' '.repeat(12)}${line}`);
}

/** An end the user can do something about: its message is all there is to print. */
export class QuickStartError extends Error {}
