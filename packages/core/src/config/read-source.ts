import { readFile } from 'node:fs/promises';
import { type Clock, delay } from '@nodepool/zk-protocol';
import { ConfigError } from '../errors.js';
import { parseSource, type SourceDocument } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

const ATTEMPTS = 3;
const PAUSE_MS = 500;

/**
 * Reads, substitutes and parses one file. A file that is missing for a moment, as while an editor or a mount replaces
 * it, is tried again.
 * @throws {ConfigError} when it cannot be read
 */
export async function readSource(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<SourceDocument> {
  const written = await readPatiently(file, clock);
  return parseSource(file, written, substituteEnvironment(written, env));
}

async function readPatiently(file: string, clock: Clock): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return stripByteOrderMark(await readFile(file, 'utf8'));
    } catch (error) {
      if (isMissing(error) && attempt < ATTEMPTS) {
        await delay(clock, PAUSE_MS);
        continue;
      }
      throw new ConfigError(`${file}: cannot be read: ${reasonOf(error)}`, [], { cause: error });
    }
  }
}

function reasonOf(error: unknown): string {
  if (isMissing(error)) return 'no such file; give its path with -c (or -s for the secure file)';
  return error instanceof Error ? error.message : String(error);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function stripByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
