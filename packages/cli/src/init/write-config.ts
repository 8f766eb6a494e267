import { access, constants, link, lstat, open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { formatProblem } from '@nodepool/core/config';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { checkFile } from '../configuration/problems.js';

/** @throws CliError there is something of this name, or its directory cannot be written to */
export async function checkTarget(file: string): Promise<void> {
  await refuseToOverwrite(file);
  const directory = dirname(file);
  const found = await stat(directory).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new CliError(
      `Cannot write ${file}: there is no directory ${directory}; make it with mkdir -p, or name another file with -c`,
    );
  }
  await access(directory, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new CliError(
      `Cannot write ${file}: no permission to write to ${directory}; name a file in a directory of yours with -c`,
      { cause: error },
    );
  });
}

async function refuseToOverwrite(file: string): Promise<void> {
  const isThere = await lstat(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw new CliError(`${file} exists: remove it, or name another file with -c`);
}

/**
 * Writes a configuration under a temporary name beside the file, validates it, and gives it its name: a file of that name
 * is whole and valid, and one that exists stays.
 * @throws CliError the file exists, cannot be written, or is not valid
 */
export async function writeConfig(context: CliContext, file: string, text: string): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  try {
    await writeDraft(draft, text);
    await validate({ ...context, options: { ...context.options, configFile: draft } }, draft, file);
    await link(draft, file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') await refuseToOverwrite(file);
    throw new CliError(`Cannot write ${file}: ${(error as Error).message}`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeDraft(draft: string, text: string): Promise<void> {
  const handle = await open(draft, 'wx');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function validate(context: CliContext, draft: string, file: string): Promise<void> {
  const { problems } = await checkFile(context, {});
  const lines = problems.map((problem) => formatProblem(problem).replaceAll(draft, file));
  if (problems.some(({ severity }) => severity === 'error'))
    throw new CliError(`Not written, as ${file} would not be valid:\n${lines.join('\n')}`);
  for (const line of lines) inform(line);
}
