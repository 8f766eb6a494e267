import { parse } from 'shell-quote';
import { ConfigError, type DiskimageConfig } from '@nodepool/core';

/** What one run of the build tool is given. */
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

/** Images of this compatibility level start on the oldest clouds. */
const QCOW2_OPTIONS = 'compat=0.10';

/**
 * The command line of one build. `dib-cmd` is split into words as a shell would, but no shell runs it: a word that asks for
 * one (a pipe, a variable) is an error.
 * @param packageDir - stands in for `%p` in `dib-cmd`
 * @throws ConfigError
 */
export function toolCommand({ image, formats, base }: ToolOrder, packageDir: string): string[] {
  return [
    ...splitCommand(image, packageDir),
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

function splitCommand(image: DiskimageConfig, packageDir: string): string[] {
  const words = parse(image.dibCmd.replaceAll('%p', packageDir), (name) => ({ op: `$${name}` }));
  const bad = words.find((word) => typeof word !== 'string');
  if (bad !== undefined || words.length === 0) {
    throw new ConfigError(
      `diskimage "${image.name}": dib-cmd ${JSON.stringify(image.dibCmd)} is not a plain command: ` +
        'no shell runs it; write the program and its arguments, or the path of a script',
    );
  }
  return words as string[];
}

/** The environment of one build: that of the builder, what the tool expects, then the image's own, which wins. */
export function toolEnvironment(
  { image, base, elementsDir, tmpDir }: ToolOrder,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return {
    ...own,
    TMPDIR: tmpDir,
    DIB_RELEASE: image.release,
    DIB_IMAGE_NAME: image.name,
    DIB_IMAGE_FILENAME: base,
    ...(elementsDir === undefined ? {} : { ELEMENTS_PATH: elementsDir }),
    ...image.envVars,
  };
}
