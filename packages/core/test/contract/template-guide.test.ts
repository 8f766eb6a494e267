import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../src/test-support/temp-dir.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const template = join(root, 'examples', 'driver-template');

/** The files in which a guide says that the name is to be replaced. */
function namedFiles(guide: string): string[] {
  const sentence = /Replace `template` by [^.]*? in ((?:[^.]|\.[a-z])*)\./.exec(readFileSync(guide, 'utf8'))?.[1] ?? '';
  return [...sentence.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
}

/** A copy of the template that resolves packages as this repository does. */
function copyTemplate(): string {
  const copy = join(tempDir(), 'nodepool-driver-acme');
  const isSource = (file: string) => !['build', 'dist', 'node_modules'].includes(basename(file));
  cpSync(template, copy, { recursive: true, filter: isSource });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

describe('the driver template', () => {
  it.each(['docs/writing-a-driver.md', 'examples/driver-template/README.md'])(
    'passes its tests under another name, replaced where %s says',
    { timeout: 180_000 },
    async (guide) => {
      const copy = copyTemplate();
      const files = namedFiles(join(root, guide));
      for (const file of files.map((name) => join(copy, name))) {
        writeFileSync(file, readFileSync(file, 'utf8').replaceAll('template', 'acme'));
      }
      await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-b', 'packages/core'], {
        cwd: root,
      });

      const { stdout } = await run('npm', ['test'], { cwd: copy, env: { ...process.env, NODE_OPTIONS: '' } });

      expect(files).toHaveLength(3);
      expect(stdout).toMatch(/driver "acme"/);
      expect(stdout).toMatch(/^# fail 0$|^ℹ fail 0$/m);
    },
  );
});
