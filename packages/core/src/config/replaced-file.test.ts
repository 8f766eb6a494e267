import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../contract/logger.js';
import { VirtualClock } from '../testing/index.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { replacedFile } from './replaced-file.js';
import { watchConfig } from './watch-config.js';

/** A file without a name, which is what a bind mount has when its file is replaced. */
function withoutName(): string {
  const file = join(tempDir(), 'nodepool.yaml');
  writeFileSync(file, '{}');
  const descriptor = openSync(file, 'r');
  onTestFinished(() => closeSync(descriptor));
  rmSync(file);
  return `/proc/self/fd/${descriptor}`;
}

it('knows a file that was replaced on the host of a bind mount', () => {
  expect(replacedFile(withoutName())).toContain('mount its directory instead of the file');
  expect(replacedFile('/dev/null')).toBeUndefined();
  expect(replacedFile('/no/such')).toBeUndefined();
});

it('is said once by what watches the configuration', async () => {
  const file = withoutName();
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (_text: string, fields?: object) => void lines.push(fields) };
  const watcher = await watchConfig({ files: [file], clock: new VirtualClock(0), onChange: () => {}, logger });
  onTestFinished(() => watcher.close());

  await watcher.check();
  await watcher.check();

  expect(lines).toContainEqual({ file, reason: expect.stringContaining('nlink 0') as string });
  expect(lines.filter((fields) => JSON.stringify(fields).includes('nlink 0'))).toHaveLength(1);
});
