import { readHistoryFile, type HistoryFile } from '@nodepool/core/launcher';

/** Told of a part that cannot be unpacked. */
export type OnDamage = (file: HistoryFile, error: unknown) => void;

/** The content of a part in pieces of whole lines. What comes after a damage is left out: the other parts are worth reading. */
export async function* readPart(file: HistoryFile, onDamage: OnDamage): AsyncGenerator<Buffer> {
  try {
    yield* readHistoryFile(file);
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    onDamage(file, error);
  }
}
