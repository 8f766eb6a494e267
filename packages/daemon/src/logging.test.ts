import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

// The test runs the built module in a process that ends.
const MODULE = new URL('../dist/logging.js', import.meta.url).href;

it('has its last lines in the file, however the process exits', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nodepool-logging-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'nodepool.log');
  const code = `
    import { createServiceLogging } from '${MODULE}';
    const { logger } = createServiceLogging({ foreground: false, debug: false }, ${JSON.stringify(file)});
    logger.info('Last words');
    process.exit();`;

  execFileSync(process.execPath, ['--input-type=module', '-e', code]);

  expect(readFileSync(file, 'utf8')).toContain('Last words');
});
