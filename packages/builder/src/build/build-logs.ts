import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBuildLogName } from '@nodepool/core/service';

/**
 * Deletes the oldest logs of an image, by its exact name.
 * @param retention - how many of those that are there stay, at least one; negative: all
 */
export async function removeOldLogs(logDir: string, image: string, retention: number): Promise<void> {
  if (retention < 0) return;
  const names = (await readdir(logDir)).filter((name) => parseBuildLogName(name)?.image === image);
  const logs = await Promise.all(
    names.map(async (name) => ({ name, mtimeMs: (await stat(join(logDir, name))).mtimeMs })),
  );
  logs.sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { name } of logs.slice(Math.max(retention, 1))) await rm(join(logDir, name), { force: true });
}
