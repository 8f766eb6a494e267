import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a directory with these files and removes it after the test. @returns its path */
export function tempDir(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'nodepool-test-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = join(dir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o600 });
  }
  return dir;
}
