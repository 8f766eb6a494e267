import { rename, rm } from 'node:fs/promises';
import { NodepoolError, replaceFile } from '@nodepool/zk-protocol';
import { runTool } from '../tool/run-tool.js';
import { toolVariables } from '../tool/secrets.js';
import { computeChecksums } from '../files/checksums.js';
import { checkFile, recordFile } from '../context/recorded-files.js';
import { imageFile } from '../files/image-files.js';
import type { BuilderContext } from '../context/builder-context.js';
import type { PlannedUpload } from '../plan/plan-uploads.js';

const LIMIT_MS = 4 * 3_600_000;

/**
 * Makes the format of a planned upload from another one of the same build, with its checksums. Nothing half-done stays.
 * @throws NODEPOOL_IMAGE_FILE if the file to convert differs from the build; NODEPOOL_CONVERT if it cannot be converted
 */
export async function convertImage(
  context: Pick<BuilderContext, 'zk' | 'imagesDir' | 'clock' | 'env' | 'sandbox'>,
  { build, format, convertFrom = '' }: PlannedUpload,
  signal: AbortSignal,
): Promise<void> {
  const { imagesDir, clock, env, sandbox } = context;
  const from = imageFile(imagesDir, build.image, build.id, convertFrom);
  await checkFile(context, { build, format: convertFrom, file: from }, signal);
  const to = imageFile(imagesDir, build.image, build.id, format);
  const draft = `${to}.converting`;
  const said: string[] = [];
  try {
    await rm(draft, { force: true });
    const command = ['qemu-img', 'convert', '-f', convertFrom, '-O', format, from, draft];
    const result = await runTool({
      ...{ command, env: toolVariables(env), sandbox, clock, signal, timeoutMs: LIMIT_MS },
      onLine: (line) => void said.push(line.trim()),
    });
    if (result.ended !== 'exit' || result.code !== 0) {
      const why = result.ended === 'not-started' ? result.error.message : said.join(' ').slice(-500);
      throw new NodepoolError(
        'NODEPOOL_CONVERT',
        `qemu-img cannot make ${format} of "${from}" (${result.ended}): ${why}; is qemu-utils installed?`,
      );
    }
    const { md5, sha256 } = await computeChecksums(draft, signal);
    await replaceFile(`${to}.md5`, `${md5}  ${to}\n`);
    await replaceFile(`${to}.sha256`, `${sha256}  ${to}\n`);
    await rename(draft, to);
    await recordFile(context, build, format, signal);
  } finally {
    await rm(draft, { force: true });
  }
}
