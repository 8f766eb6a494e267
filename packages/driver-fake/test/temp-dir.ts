import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory that is removed when the test has ended. */
export function makeTempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'fake-cloud-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
