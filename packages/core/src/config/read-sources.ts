import { readFile } from 'node:fs/promises';
import type { Clock, Json, JsonObject } from '@nodepool/zk-protocol';
import { delay, listOf, mapOf } from '@nodepool/zk-protocol';
import { ConfigError } from '../contract/errors.js';
import type { ConfigProblem } from '../contract/config.js';
import { formatPath, type YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';
import { formatProblem } from './problems.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';
import { lineStarts } from './line-ends.js';

/** The files of a configuration. */
export interface SourceFiles {
  readonly file: string;
  readonly secureFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Default: from the disk. */
  readonly read?: ((file: string) => Promise<Uint8Array>) | undefined;
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
  const { file, secureFile } = files;
  const [main, secure] = await Promise.all([
    readOrReport(readSource(file, files), problems),
    secureFile === undefined ? undefined : readOrReport(readSource(secureFile, files), problems),
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

const ATTEMPTS = 3;
const PAUSE_MS = 500;

/**
 * Reads, substitutes and parses one file. Retries if the file is missing, e.g. while an editor or a mount
 * replaces it.
 * @throws {ConfigError} if the file cannot be read or is not text
 */
async function readSource(file: string, { env, clock, read = readFile }: SourceFiles): Promise<SourceDocument> {
  const decoded = decodeText(file, await readPatiently(file, clock, read));
  if ('problem' in decoded) throw new ConfigError(formatProblem(decoded.problem), [decoded.problem]);
  return parseSource(file, decoded.text, substituteEnvironment(decoded.text, env));
}

async function readPatiently(
  file: string,
  clock: Clock,
  read: (file: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(file);
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

const BYTE_ORDER_MARK = '\uFEFF';

/** Text of a configuration file, or the problem that prevents decoding. */
type DecodedText = { readonly text: string } | { readonly problem: ConfigProblem };

/** Decodes UTF-8, with or without a byte order mark. Reports invalid UTF-8 with its line and column. */
export function decodeText(file: string, bytes: Uint8Array): DecodedText {
  try {
    return { text: decode(bytes) };
  } catch {
    const position = { file, ...placeOfFirstInvalidByte(bytes) };
    const what = isUtf16(bytes) ? 'the file is UTF-16' : 'this character is not UTF-8';
    const message = `${what}, expected UTF-8: save the file in that encoding`;
    return { problem: { severity: 'error', position, path: '', message } };
  }
}

function decode(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function placeOfFirstInvalidByte(bytes: Uint8Array): { line: number; column: number } {
  const valid = validPrefix(bytes);
  const starts = lineStarts(valid);
  return { line: starts.length, column: valid.length - (starts.at(-1) ?? 0) + 1 };
}

/** The text before the first invalid byte. */
function validPrefix(bytes: Uint8Array): string {
  const prefix = (length: number) =>
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length), { stream: true });
  let valid = 0;
  for (let invalid = bytes.length + 1; invalid - valid > 1;) {
    const middle = Math.floor((valid + invalid) / 2);
    try {
      prefix(middle);
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return prefix(valid);
}

function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

/** Top-level keys of versions before 3. Converted files may still contain some. */
const OLD_TOP_LEVEL = ['cron', 'targets', 'dburi', 'gearman-servers', 'zmq-publishers', 'script-dir', 'data-dir'];

/** Provider keys of the current format. */
const OF_TODAY = ['driver', 'pools', 'diskimages', 'cloud-images'];

/**
 * Reports a file of a version before 3 in one error. Its labels name an image and providers, and its providers images;
 * in the current format, pools name labels. Leftover keys in a current file are left to the schema.
 */
export function reportOldFormat(document: SourceDocument, problems: ProblemCollector): void {
  const top = mapOf(document.value);
  const providers = listOf(top['providers']).map(mapOf);
  if (providers.some((provider) => OF_TODAY.some((key) => key in provider))) return;
  const leftovers = OLD_TOP_LEVEL.filter((key) => key in top).map((key) => [key]);
  const found = [...oldLabels(top['labels']), ...oldProviders(providers), ...leftovers];
  const [first] = found;
  if (first === undefined) return;
  const names = [...new Set(found.map((path) => `"${formatPath(path).replaceAll(/\[\d+\]/g, '[]')}"`))];
  const message =
    `this is a file for Nodepool before version 3 (it has ${names.join(', ')}): nothing converts it. ` +
    'Since version 3 a provider has "pools", a pool has "labels", and each of these names its "diskimage" or "cloud-image"; ' +
    'see docs/configuration.md';
  problems.add(document, first, message, { atKey: true });
}

/** Finds labels of the old format, which have both keys. A single key is a leftover. */
function oldLabels(list: Json | undefined): YamlPath[] {
  return listOf(list).flatMap((entry, index) => {
    const isOld = ['image', 'providers'].every((key) => key in mapOf(entry));
    return isOld
      ? [
          ['labels', index, 'image'],
          ['labels', index, 'providers'],
        ]
      : [];
  });
}

function oldProviders(providers: readonly JsonObject[]): YamlPath[] {
  return providers.flatMap((provider, index) => ('images' in provider ? [['providers', index, 'images']] : []));
}
