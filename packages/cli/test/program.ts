import { vi } from 'vitest';
import { main } from '../src/main.js';

/** What one call of the program printed, and its exit status. */
export interface Outcome {
  status: unknown;
  stdout: string;
  stderr: string;
}

/** Runs `nodepool` with these arguments, in this process. */
export async function nodepool(...argv: string[]): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => Boolean((printed[stream] += String(text)))),
  );
  try {
    await main(argv);
    return { status: process.exitCode, ...printed };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}
