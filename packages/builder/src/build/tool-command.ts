import { ConfigError } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import { toolVariables, type Variables } from '../tool/secrets.js';

/** Parameters of one run of the build tool. */
export interface ToolOrder {
  readonly image: DiskimageConfig;
  /** Sorted, at least one. */
  readonly formats: readonly string[];
  /** Path of the image without ending. */
  readonly base: string;
  readonly elementsDir: string | undefined;
  /** For temporary files and mounts of this run alone. */
  readonly tmpDir: string;
}

/** Compatibility level that the oldest clouds support. */
const QCOW2_OPTIONS = 'compat=0.10';

/** The umask of the builder protects files on this machine; files inside an image need the default. */
const WITH_USUAL_MASK = ['sh', '-c', 'umask 022; exec "$@"', 'sh'];

/**
 * The command line of one build. Splits `dib-cmd` into words like a shell, but runs no shell: `$`, `*`, `#` and `|` have no
 * special meaning.
 * @param packageDir - replaces `%p` in `dib-cmd`
 * @throws ConfigError
 */
export function toolCommand({ image, formats, base }: ToolOrder, packageDir: string): string[] {
  return [
    ...WITH_USUAL_MASK,
    ...splitDibCommand(image, packageDir),
    '-x',
    '-t',
    formats.join(','),
    '--checksum',
    '--no-tmpfs',
    ...(formats.includes('qcow2') ? ['--qemu-img-options', QCOW2_OPTIONS] : []),
    '-o',
    base,
    ...image.elements.flatMap((element) => element.split(/\s+/).filter((word) => word !== '')),
  ];
}

function splitDibCommand({ name, dibCmd }: DiskimageConfig, packageDir: string): string[] {
  const words = splitWords(dibCmd.replaceAll('%p', packageDir));
  if (words && words.length > 0) return words;
  const problem = words ? 'is empty' : 'has a quotation mark or a backslash without its counterpart';
  throw new ConfigError(
    `diskimage "${name}": dib-cmd ${JSON.stringify(dibCmd)} ${problem}: write the program and its arguments`,
  );
}

/** The environment of one build: that of the builder without secrets, variables for the tool, and those of the image, which win. */
export function toolEnvironment({ image, base, elementsDir, tmpDir }: ToolOrder, own: Variables): Variables {
  return {
    ...toolVariables(own),
    TMPDIR: tmpDir,
    DIB_RELEASE: image.release,
    DIB_IMAGE_NAME: image.name,
    DIB_IMAGE_FILENAME: base,
    ...(elementsDir === undefined ? {} : { ELEMENTS_PATH: elementsDir }),
    ...image.envVars,
  };
}

/** A run of characters that means the same: in single quotes, in double quotes, behind a backslash, blank, or plain. */
const PIECE = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|(\s+)|([^\s'"\\]+)/gy;

/**
 * Splits a command into words as a POSIX shell does, with quotes and backslashes. Nothing else has a meaning.
 * @returns `undefined` when a quotation or a backslash at the end is not complete
 */
export function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const [piece, single, double, escaped, blanks, plain] of text.matchAll(PIECE)) {
    end += piece.length;
    if (blanks === undefined) {
      word = (word ?? '') + (single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? escaped ?? plain ?? '');
    } else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return end === text.length ? words : undefined;
}
