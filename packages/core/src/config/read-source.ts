import { readFile } from 'node:fs/promises';
import { type Clock, delay } from '@nodepool/zk-protocol';
import { ConfigError } from '../contract/errors.js';
import { decodeText } from './decode-text.js';
import { formatProblem } from './problems.js';
import { parseSource, type SourceDocument } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

const ATTEMPTS = 3;
const PAUSE_MS = 500;

/**
 * Reads, substitutes and parses one file. Retries if the file is missing, e.g. while an editor or a mount
 * replaces it.
 * @throws {ConfigError} if the file cannot be read or is not text
 */
export async function readSource(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<SourceDocument> {
  const decoded = decodeText(file, await readPatiently(file, clock));
  if ('problem' in decoded) throw new ConfigError(formatProblem(decoded.problem), [decoded.problem]);
  return parseSource(file, decoded.text, substituteEnvironment(decoded.text, env));
}

async function readPatiently(file: string, clock: Clock): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readFile(file);
    } catch (error) {
      if (isMissing(error) && attempt < ATTEMPTS) {
        await delay(clock, PAUSE_MS);
        continue;
      }
      const message = `${file}: cannot be read: ${reasonOf(error)}`;
      throw new ConfigError(message, [{ severity: 'error', position: undefined, path: '', message }], { cause: error });
    }
  }
}

function reasonOf(error: unknown): string {
  if (isMissing(error)) return 'no such file; give its path with -c (or -s for the secure file)';
  if (error instanceof Error && 'code' in error && error.code === 'EISDIR') return 'it is a folder, name a file in it';
  return error instanceof Error ? error.message : String(error);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
