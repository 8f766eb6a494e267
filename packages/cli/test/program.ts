import { vi } from 'vitest';
import { main } from '../src/main.js';

/** What one call of the program printed, and its exit status. */
export interface Outcome {
  status: unknown;
  stdout: string;
  stderr: string;
}

/** Runs `nodepool` with these arguments, in this process. */
export function nodepool(...argv: string[]): Promise<Outcome> {
  return nodepoolUntil(() => false, ...argv);
}

/** Runs `nodepool` in this process, and interrupts it, as Ctrl-C does, as soon as it has printed enough. */
export async function nodepoolUntil(isEnough: (stdout: string) => boolean, ...argv: string[]): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' };
  const others = new Set(process.listeners('SIGINT'));
  const interrupt = () => {
    for (const listener of process.listeners('SIGINT')) if (!others.has(listener)) listener('SIGINT');
  };
  let isInterrupted = false;
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream] += String(text);
      if (!isInterrupted && isEnough(printed.stdout)) {
        isInterrupted = true;
        setImmediate(interrupt);
      }
      return true;
    }),
  );
  try {
    await main(argv);
    return { status: process.exitCode, ...printed };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}
