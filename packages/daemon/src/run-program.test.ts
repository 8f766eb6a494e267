import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { boundHeapGrowth } from './run-program.js';

describe('boundHeapGrowth', () => {
  it('uses a flag that this version of Node knows', () => {
    const { status, stderr } = spawnSync(process.execPath, ['--heap-growing-percent=50', '--eval', ''], {
      encoding: 'utf8',
    });

    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('sets it', () => {
    expect(boundHeapGrowth(['--enable-source-maps'])).toBe(true);
  });

  it('keeps what the operator chose', () => {
    expect(boundHeapGrowth(['--heap-growing-percent=200'])).toBe(false);
    expect(boundHeapGrowth(['--heap_growing_percent=200'])).toBe(false);
  });
});
