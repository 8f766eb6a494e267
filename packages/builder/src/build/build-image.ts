import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory, uuidHex, type BuildRecord, type JsonObject } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import { buildLogFile, buildReasonOf, FILES_KEY, sizesOf } from '@nodepool/core/service';
import type { Progress } from '../context/progress.js';
import { measureFile } from '../context/recorded-files.js';
import {
  applyMask,
  bytesOnDisk,
  imageBase,
  imageFile,
  listBuildFiles,
  removeBuildFiles,
  type BuildFiles,
} from '../files/image-files.js';
import type { BuilderContext } from '../context/builder-context.js';
import { BuildLog, removeOldLogs } from './build-log.js';
import { BuildRecords, type CompleteOptions } from './build-records.js';
import { removeLeftoversOf } from '../tool/leftovers.js';
import { noteLoop } from '../tool/loops.js';
import type { FailureTrace } from './failure-reader.js';
import { runTool, type ToolResult } from '../tool/run-tool.js';
import { SecretMask } from '../tool/secrets.js';
import { SpaceWatch } from './space-watch.js';
import { toolCommand, toolEnvironment, type ToolOrder } from './tool-command.js';

/** Hook directories of the build tool in their order; each is a phase of a build. */
const HOOK = /dib-run-parts .*\/hooks\/(?<phase>[a-z-]+)\.d\b/;
const CONVERTING = /\b(?:qemu-img convert|Converting image)\b/;

/** Phase of a build whose tool has ended. */
export const STORING = 'storing the result';

/** What a line of the build tool's output says about where the build is; `undefined`: nothing. */
function phaseOf(line: string): string | undefined {
  const hook = HOOK.exec(line)?.groups?.['phase'];
  if (hook !== undefined) return hook;
  return CONVERTING.test(line) ? 'convert' : undefined;
}

/** Input of a build besides the {@link BuilderContext}. */
export interface BuildOrder extends CompleteOptions {
  readonly image: DiskimageConfig;
  readonly formats: readonly string[];
  /** The reason for the build. */
  readonly why: string;
  readonly progress: (progress: Progress) => void;
}

/** How a build ended. */
export type BuildOutcome =
  | { readonly result: 'ready'; readonly build: BuildRecord }
  | { readonly result: 'failed'; readonly buildId: string; readonly reason: string };

/**
 * Runs the build tool for one image. The caller holds the lock of the image. A lost ZooKeeper session does not end the build:
 * its record is restored in the next session.
 */
export async function buildImage(context: BuilderContext, order: BuildOrder): Promise<BuildOutcome> {
  const { logger, clock, events, imagesDir } = context;
  const { image, formats, why } = order;
  const records = new BuildRecords(context, image, formats);
  const building = await records.create(uuidHex(), why);
  const startedMs = clock.now();
  logger.info('Build started', { image: image.name, build: building.id, formats, why });
  const { result, failure } = await runBuild(context, order, building.id, startedMs);
  order.progress({ image: image.name, buildId: building.id, startedMs, phase: STORING });
  const exitCode = result.ended === 'exit' ? result.code : 1;
  events.buildEnded(image.name, { exitCode, durationMs: clock.now() - startedMs });
  const problem = exitCode === 0 ? await findProblem(context, building, formats) : reasonOf(result, image, failure);
  if (problem !== undefined) return fail(context, records, building, problem);
  const files: Record<string, JsonObject> = {};
  for (const format of formats) {
    const file = imageFile(imagesDir, image.name, building.id, format);
    events.imageBuilt(image.name, format, await bytesOnDisk(file));
    files[format] = await measureFile(file, order.signal);
  }
  const build = await records.complete({ ...building, raw: { ...building.raw, [FILES_KEY]: files } }, order);
  if (!build) return fail(context, records, building, 'its record was removed while it was built');
  const figures = { durationMs: clock.now() - startedMs, bytes: sizesOf(build), why };
  logger.info('Build is ready', { image: image.name, build: build.id, ...figures });
  return { result: 'ready', build };
}

/** How the tool ended, and where it was. */
interface ToolEnd {
  readonly result: ToolResult;
  readonly failure: FailureTrace | undefined;
}

async function runBuild(
  context: BuilderContext,
  order: BuildOrder,
  buildId: string,
  startedMs: number,
): Promise<ToolEnd> {
  const { imagesDir, logDir, tmpRoot, clock, space, logger, env } = context;
  const { image } = order;
  const tmpDir = join(tmpRoot, buildId);
  try {
    await makeDirectory(tmpDir, 0o755);
    await removeOldLogs(logDir, image.name, context.config().buildLogRetention);
    const mask = new SecretMask(env, image.envVars);
    const log = await BuildLog.open(buildLogFile(logDir, image.name, buildId), { mask, logger, clock });
    const watch = await SpaceWatch.start(clock, imagesDir, tmpDir);
    try {
      const result = await runLogged(context, order, { log, buildId, startedMs, tmpDir });
      if (result.ended === 'exit' && result.code === 0) await space.learn(image.name, await watch.look());
      return { result, failure: log.failure };
    } finally {
      watch.stop();
      await log.close();
    }
  } catch (error) {
    return {
      result: { ended: 'not-started', error: error instanceof Error ? error : new Error(String(error)) },
      failure: undefined,
    };
  } finally {
    await removeLeftoversOf(tmpDir, logger);
  }
}

async function runLogged(
  { imagesDir, env, sandbox, clock, packageDir, logger, config }: BuilderContext,
  { image, formats, progress, signal }: BuildOrder,
  { log, buildId, startedMs, tmpDir }: { log: BuildLog; buildId: string; startedMs: number; tmpDir: string },
): Promise<ToolResult> {
  const base = join(imagesDir, imageBase(image.name, buildId));
  const toolOrder: ToolOrder = { image, formats, base, tmpDir, elementsDir: config().elementsDir };
  let phase = 'start';
  progress({ image: image.name, buildId, startedMs, phase });
  const onLine = async (line: string) => {
    const next = phaseOf(line) ?? phase;
    if (next !== phase) {
      phase = next;
      progress({ image: image.name, buildId, startedMs, phase });
      logger.info('Build in progress', {
        image: image.name,
        build: buildId,
        phase,
        elapsedMs: clock.now() - startedMs,
      });
    }
    await noteLoop(tmpDir, line);
    await log.write(line);
  };
  const result = await runTool({
    command: toolCommand(toolOrder, packageDir),
    env: toolEnvironment(toolOrder, env),
    ...{ sandbox, onLine, clock, signal },
    timeoutMs: image.buildTimeoutMs,
  });
  if (result.ended === 'exit') await log.conclude(`Exit code: ${result.code}\n`);
  if (result.ended === 'not-started') await log.conclude(`${result.error.message}\n`);
  return result;
}

/** Checks the files of a build whose tool succeeded. @returns the problem, if any */
async function findProblem(
  { imagesDir, logger }: BuilderContext,
  build: BuildRecord,
  formats: readonly string[],
): Promise<string | undefined> {
  try {
    const files = (await listBuildFiles(imagesDir)).get(imageBase(build.image, build.id));
    if (files) await protect(imagesDir, files, logger);
    for (const format of formats) {
      if (!files?.formats.has(format)) return `the tool ended well, but made no ${format} file`;
      const file = imageFile(imagesDir, build.image, build.id, format);
      if ((await stat(file)).size === 0) return `the tool ended well, but its ${format} file is empty`;
    }
    return undefined;
  } catch (error) {
    return `the tool ended well, but its files in "${imagesDir}" cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Restricts permissions. Files of another user, for example of a tool run by sudo, keep theirs; the image is still usable. */
async function protect(imagesDir: string, files: BuildFiles, logger: Logger): Promise<void> {
  try {
    await applyMask(imagesDir, files);
  } catch (error) {
    const fields = { image: files.image, build: files.buildId, directory: imagesDir, error };
    logger.warn('Failed to restrict permissions of image files; other users may read them', fields);
  }
}

/** Names the script that failed and its error, as far as the output shows them. */
function reasonOf(result: ToolResult, image: DiskimageConfig, failure: FailureTrace | undefined): string {
  const script = failure?.script;
  const said = failure?.said === undefined ? '' : `: ${failure.said}`;
  switch (result.ended) {
    case 'exit':
      return `${script ?? 'the build tool'} failed with exit code ${result.code}${said}`;
    case 'signal':
      return `the build tool was ended by ${result.signal}${at(script)}${said}`;
    case 'timeout':
      return `not finished within build-timeout (${image.buildTimeoutMs / 1_000} s)${at(script)}${said}`;
    case 'aborted':
      return 'the builder was stopped';
    case 'not-started':
      return `the build tool could not be run: ${result.error.message}`;
  }
}

const at = (script: string | undefined): string => (script === undefined ? '' : ` in ${script}`);

async function fail(
  { logger, imagesDir, clock }: BuilderContext,
  records: BuildRecords,
  building: BuildRecord,
  reason: string,
): Promise<BuildOutcome> {
  const { image, id: buildId } = building;
  const figures = { durationMs: clock.now() - building.stateTimeMs, why: buildReasonOf(building) };
  logger.error('Build failed; the images in service stay', { image, build: buildId, reason, ...figures });
  const files = (await listBuildFiles(imagesDir)).get(imageBase(image, buildId));
  if (files) await removeBuildFiles(imagesDir, files);
  await records.fail(building, reason);
  return { result: 'failed', buildId, reason };
}
