import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigError, type Config, type Logger } from '@nodepool/core';
import { checkPrivilegedDirectory, makeDirectory, makePrivateDirectory } from '@nodepool/zk-protocol';
import { splitWords } from './build/tool-command.js';
import { AbsentBuilders } from './context/absent-builders.js';
import { SpaceBook } from './context/space.js';
import type { BuilderContext } from './context/builder-context.js';
import { readBuilderId } from './files/builder-id.js';
import type { BuilderOptions } from './options.js';
import { ImageProviders } from './providers/image-providers.js';
import { findSandbox } from './tool/sandbox.js';

/** What of the context changes while the builder runs. */
type LiveContext = Pick<
  BuilderContext,
  'tree' | 'config' | 'databaseId' | 'holdsId' | 'ownsFiles' | 'noteBuild' | 'activityChanged' | 'workEnded'
>;

/**
 * Makes the builder's directories, finds out its lasting id and what its builds may use.
 * @throws {ConfigError} without `images-dir`, or for a directory that cannot be made or written to; NODEPOOL_UNSAFE_DIRECTORY
 */
export async function prepareContext(options: BuilderOptions, live: LiveContext): Promise<BuilderContext> {
  const { zk, clock, logger, random, hostname, registry, contextOf, env, packageDir, events, tmpDir } = options;
  const { file, imagesDir, buildLogDir, trustedDirectories } = live.config();
  if (imagesDir === undefined) {
    throw new ConfigError(`${file}: images-dir is missing: a builder needs a directory for its images`);
  }
  checkDirectory('images-dir', imagesDir, trustedDirectories);
  await makeBuildLogDir(buildLogDir, trustedDirectories);
  warnOfPrograms(live.config(), logger);
  const builderId = await readBuilderId(imagesDir);
  const tmpRoot = join(tmpDir, `nodepool-builder-${builderId}`);
  makePrivateDirectory(tmpRoot, 'remove it, or set TMPDIR to a directory that only the builder may write to');
  const sandbox = options.sandbox ?? (await findSandbox());
  if (sandbox.length === 0) {
    logger.warn(
      'Builds run without namespaces of their own: they need root and util-linux; the builder unmounts what a killed build leaves',
    );
  }
  return {
    ...live,
    ...{ zk, clock, logger, random, hostname, builderId, imagesDir, tmpRoot, env, packageDir, events, sandbox },
    logDir: buildLogDir,
    space: new SpaceBook(imagesDir, tmpRoot),
    absent: new AbsentBuilders({ zk, clock, logger, builderId }),
    providers: new ImageProviders(registry, contextOf, logger),
  };
}

const REMEDIES = {
  'images-dir': 'move it to a directory that only the builder may write to, such as /var/lib/nodepool-builder/images',
  'build-log-dir': 'choose a directory that only the builder may write to, such as /var/log/nodepool-builder',
};

function checkDirectory(key: keyof typeof REMEDIES, path: string, trusted: Config['trustedDirectories'] = []): void {
  const remedy = `else set ${key}: ${REMEDIES[key]}`;
  checkPrivilegedDirectory({ path, remedy, trusted });
}

async function makeBuildLogDir(buildLogDir: string, trusted: Config['trustedDirectories']): Promise<void> {
  checkDirectory('build-log-dir', buildLogDir, trusted);
  try {
    await makeDirectory(buildLogDir);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `build-log-dir "${buildLogDir}" cannot be made: ${reason}; choose a directory that the builder may write to`;
    throw new ConfigError(message, [], { cause: error });
  }
}

/**
 * Warns of elements that are missing, and of elements and programs that another user could replace: a builder of root runs them
 * as root.
 */
export function warnOfPrograms(config: Config, logger: Logger, uid = process.geteuid?.()): void {
  const remedy = 'or move them to a directory that only root may write to';
  for (const [path, key] of directoriesOfPrograms(config)) {
    if (key === 'elements-dir' && !existsSync(path)) {
      const error = new ConfigError(`elements-dir: there is no directory "${path}"; create it, or correct the path`);
      logger.warn('Elements are missing', { error });
    }
    try {
      checkPrivilegedDirectory({ path, remedy, trusted: config.trustedDirectories ?? [] }, uid);
    } catch (error) {
      if (uid === 0) logger.warn('Other users can change what the builder runs as root', { key, path, error });
    }
  }
}

/** Directories of what builders run, with the key of the configuration. Programs that are found on the PATH are missing. */
function directoriesOfPrograms({ elementsDir = '', diskimages, providers }: Config): Map<string, string> {
  const images = [...diskimages.values()];
  const programs = [
    ...images.map(({ dibCmd }) => ['dib-cmd', splitWords(dibCmd)?.[0]] as const),
    ...images.map(({ validate }) => ['validate.command', validate?.command] as const),
    ...[...providers.values()].map(({ images: own }) => ['post-upload-hook', own?.postUploadHook] as const),
  ];
  return new Map([
    ...elementsDir.split(':').flatMap((path) => (path === '' ? [] : [[path, 'elements-dir'] as const])),
    ...programs.flatMap(([key, file = '']) => (isAbsolute(file) ? [[dirname(file), key] as const] : [])),
  ]);
}
