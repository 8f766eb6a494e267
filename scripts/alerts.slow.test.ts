// The alert rules of contrib, asked by Prometheus' own promtool what they say of recorded incidents.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, unpackDebianPackage } from '@nodepool/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';

const RULES = fileURLToPath(new URL('../contrib/prometheus/', import.meta.url));
/** Part of Debian's package `prometheus`, which also starts a server. */
const INSTALLED = '/usr/bin/promtool';

let dir = '';
let promtool = INSTALLED;

beforeAll(async () => {
  if (existsSync(INSTALLED)) return;
  dir = mkdtempSync(join(tmpdir(), 'nodepool-promtool-'));
  await unpackDebianPackage('prometheus', dir);
  promtool = join(dir, INSTALLED);
}, 300_000);

afterAll(() => {
  if (dir !== '') rmSync(dir, { recursive: true });
});

it('say of each recorded incident what is expected, and nothing else', async () => {
  const { stdout } = await run(promtool, ['test', 'rules', 'nodepool.rules.test.yml'], { cwd: RULES });

  expect(stdout).toContain('SUCCESS');
});
