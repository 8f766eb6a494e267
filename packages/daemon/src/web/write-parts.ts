import { setImmediate as nextTurn } from 'node:timers/promises';

/** Length of a slice of work, ms, after which the event loop handles other events. */
const STRETCH_MS = 3;

/** A text and the CPU time it took. */
export interface Written {
  readonly body: Buffer;
  /** Milliseconds of work, without the pauses between slices. */
  readonly spentMs: number;
}

/**
 * Concatenates a long text in slices, so that it does not block the event loop.
 * @param parts - computed lazily; their source must not change meanwhile
 */
export async function writeParts(parts: Iterable<string>, measure = () => performance.now()): Promise<Written> {
  const chunks: Buffer[] = [];
  let spentMs = 0;
  let beganMs = measure();
  for (const part of parts) {
    if (part !== '') chunks.push(Buffer.from(part));
    const stretchMs = measure() - beganMs;
    if (stretchMs < STRETCH_MS) continue;
    spentMs += stretchMs;
    await nextTurn();
    beganMs = measure();
  }
  const [first] = chunks;
  const body = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
  return { body, spentMs: spentMs + measure() - beganMs };
}
