import type { Clock } from '@nodepool/zk-protocol';
import { ConfigError } from '../contract/errors.js';
import { reportOldFormat } from './old-format.js';
import type { ProblemCollector } from './problems.js';
import { readSource } from './read-source.js';
import type { SourceDocument } from './source-document.js';

/** The files of a configuration. */
export interface SourceFiles {
  readonly file: string;
  readonly secureFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Parsed files of a configuration. */
export interface Sources {
  readonly main: SourceDocument;
  readonly secure: SourceDocument | undefined;
}

/**
 * Reads the main and the secure file.
 * @throws {ConfigError} if either file is unusable, with the problems of both
 */
export async function readSources(files: SourceFiles, problems: ProblemCollector): Promise<Sources> {
  const { file, secureFile, env, clock } = files;
  const [main, secure] = await Promise.all([
    readOrReport(readSource(file, env, clock), problems),
    secureFile === undefined ? undefined : readOrReport(readSource(secureFile, env, clock), problems),
  ]);
  for (const document of [main, secure]) problems.addAll(document?.problems ?? []);
  if (main !== undefined && problems.errors.length === 0) refuseEmpty(main, problems);
  if (main !== undefined) reportOldFormat(main, problems);
  problems.throwIfErrors();
  if (main === undefined) throw new ConfigError(`${file}: cannot be read`);
  return { main, secure };
}

async function readOrReport(
  reading: Promise<SourceDocument>,
  problems: ProblemCollector,
): Promise<SourceDocument | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.addAll(error.problems);
    return undefined;
  }
}

/** Rejects an empty file, which is incomplete or a mistake and would remove all providers. */
function refuseEmpty(main: SourceDocument, problems: ProblemCollector): void {
  if (main.value !== null) return;
  problems.add(main, [], 'the file says nothing, expected a map: a configuration without anything in it is {}');
}
