import { createInterface } from 'node:readline/promises';

/** Asks for confirmation: only `y` confirms, and the end of the input declines. */
export async function isConfirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} [N/y] `), ended]);
    return answer.toLowerCase() === 'y';
  } finally {
    terminal.close();
  }
}
