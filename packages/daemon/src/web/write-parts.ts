import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work at a stretch, in milliseconds, after which everything else that is due gets its turn. */
const STRETCH_MS = 3;

/** A text that was written, and what that took. */
export interface Written {
  readonly body: Buffer;
  /** Milliseconds of work, without those of others between the stretches. */
  readonly spentMs: number;
}

/**
 * Puts a long text together, a stretch at a time, so that an answer to a reader of the web holds up nothing else.
 * @param parts - computed as they are taken; what they are made from must not change in between
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
