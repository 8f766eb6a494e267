import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const script = new URL('api-report.mjs', import.meta.url).pathname;

it('what core exports for drivers is written down as it is', { timeout: 120_000 }, async () => {
  const checked = await promisify(execFile)(process.execPath, [script, '--check']).then(
    () => 'current',
    (error: { stderr: string }) => error.stderr,
  );

  expect(checked).toBe('current');
});
