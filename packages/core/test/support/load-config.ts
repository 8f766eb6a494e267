import { join } from 'node:path';
import { loadConfig, type LoadConfigOptions } from '../../src/config/load-config.js';
import { formatProblem } from '../../src/config/problems.js';
import type { Config } from '../../src/contract/config.js';
import { ConfigError } from '../../src/contract/errors.js';
import { plainDriver, registryOf } from './plain-driver.js';
import { tempDir } from './temp-dir.js';

/** A configuration written by a test. */
export interface ConfigInput {
  /** Main file, as bytes if the encoding matters. */
  readonly yaml: string | Uint8Array;
  readonly secure?: string;
  readonly env?: Record<string, string>;
  /** Default `service`. */
  readonly mode?: LoadConfigOptions['mode'];
  readonly leavesUnserved?: LoadConfigOptions['leavesUnserved'];
  readonly asOriginal?: LoadConfigOptions['asOriginal'];
  readonly access?: LoadConfigOptions['access'];
  readonly serves?: LoadConfigOptions['serves'];
  readonly imagesOnly?: LoadConfigOptions['imagesOnly'];
  /** Default: only the driver `plain`. */
  readonly drivers?: LoadConfigOptions['drivers'];
}

/** Loads a configuration from separate files. */
export function loadWritten(input: ConfigInput): Promise<Config> {
  const {
    yaml,
    secure,
    env = {},
    mode = 'service',
    leavesUnserved,
    asOriginal,
    access,
    serves,
    imagesOnly,
    drivers = registryOf(plainDriver('plain')),
  } = input;
  const dir = tempDir({ 'nodepool.yaml': yaml, ...(secure === undefined ? {} : { 'secure.yaml': secure }) });
  const secureFile = secure === undefined ? undefined : join(dir, 'secure.yaml');
  return loadConfig({
    file: join(dir, 'nodepool.yaml'),
    secureFile,
    env,
    mode,
    leavesUnserved,
    asOriginal,
    access,
    serves,
    imagesOnly,
    drivers,
  });
}

/** Error lines of an invalid configuration, without the directory. */
export async function errorLinesOf(input: ConfigInput): Promise<string[]> {
  return (await refusalOf(input)).message.split('\n').map(withoutFolder);
}

/** Errors and warnings of a configuration, without the directory. Empty if the configuration is valid. */
export async function linesAbout(input: ConfigInput): Promise<string[]> {
  const problems = await loadWritten(input).then(
    ({ warnings }) => warnings,
    (error: unknown) => {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    },
  );
  return problems.map((problem) => withoutFolder(formatProblem(problem)));
}

async function refusalOf(input: ConfigInput): Promise<ConfigError> {
  const error: unknown = await loadWritten(input).then(
    () => new Error('the configuration was accepted'),
    (reason: unknown) => reason,
  );
  if (error instanceof ConfigError) return error;
  throw error;
}

function withoutFolder(line: string): string {
  return line.replace(/^\/\S*\//, '');
}
