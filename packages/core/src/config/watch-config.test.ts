import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '../contract/logger.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { watchConfig, type WatchConfigOptions } from './watch-config.js';

/** A watcher that relies on file system events, and the number of changes it has reported. */
async function watching(files: string[], options: Partial<WatchConfigOptions> = {}) {
  const onChange = vi.fn();
  const watcher = await watchConfig({
    files,
    clock: systemClock,
    logger: silentLogger,
    onChange,
    quietMs: 5,
    pollMs: 3_600_000,
    ...options,
  });
  onTestFinished(() => watcher.close());
  const nextChange = (count = 1) =>
    vi.waitFor(() => expect(onChange.mock.calls.length).toBeGreaterThanOrEqual(count), 50_000);
  return { watcher, onChange, nextChange };
}

describe('watching the configuration', () => {
  it('detects an edit', async () => {
    const file = join(tempDir({ 'a.yaml': 'one' }), 'a.yaml');
    const { nextChange } = await watching([file]);

    writeFileSync(file, 'two');

    await nextChange();
  });

  it('detects an edit of a file added later, but not its addition', async () => {
    const dir = tempDir({ 'a.yaml': 'one', 'more/b.yaml': 'one' });
    const more: string[] = [];
    const { watcher, onChange, nextChange } = await watching([join(dir, 'a.yaml')], { moreFiles: () => more });
    more.push(join(dir, 'more/b.yaml'));
    await watcher.check();
    expect(onChange).not.toHaveBeenCalled();

    writeFileSync(join(dir, 'more/b.yaml'), 'two');

    await nextChange();
    more.pop();
    await watcher.check();
    expect(onChange).toHaveBeenCalledOnce();
  });

  it('detects repeated replacement of a file', async () => {
    const dir = tempDir({ 'a.yaml': 'one' });
    const file = join(dir, 'a.yaml');
    const { nextChange } = await watching([file]);

    for (let round = 1; round <= 3; round++) {
      writeFileSync(`${file}.new`, `round ${round}`);
      renameSync(`${file}.new`, file);
      await nextChange(round);
    }
  });

  it('detects a swapped link of a mounted config map', async () => {
    const dir = tempDir({ 'v1/a.yaml': 'one', 'v2/a.yaml': 'two' });
    symlinkSync('v1', join(dir, '..data'));
    symlinkSync('..data/a.yaml', join(dir, 'a.yaml'));
    const { nextChange } = await watching([join(dir, 'a.yaml')]);

    symlinkSync('v2', join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));

    await nextChange();
  });

  it('detects a change of a link target', async () => {
    const dir = tempDir({ 'real/a.yaml': 'one' });
    mkdirSync(join(dir, 'etc'));
    symlinkSync('../real/a.yaml', join(dir, 'etc', 'a.yaml'));
    const { nextChange } = await watching([join(dir, 'etc', 'a.yaml')]);

    writeFileSync(join(dir, 'real', 'a.yaml'), 'two');

    await nextChange();
  });

  it('detects by polling a change without an event', async () => {
    const dir = tempDir();
    const file = join(dir, 'later', 'a.yaml');
    const { watcher, onChange } = await watching([file]);

    mkdirSync(join(dir, 'later'));
    writeFileSync(file, 'one');
    await watcher.check();

    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it('keeps watching after its folder is removed and recreated', async () => {
    const dir = tempDir({ 'etc/a.yaml': 'one' });
    const file = join(dir, 'etc', 'a.yaml');
    const { watcher, onChange, nextChange } = await watching([file]);
    rmSync(join(dir, 'etc'), { recursive: true });
    mkdirSync(join(dir, 'etc'));
    writeFileSync(file, 'two');
    await watcher.check();
    const before = onChange.mock.calls.length;

    writeFileSync(file, 'three!');

    await nextChange(before + 1);
  });

  it('reports nothing without a change, even if a neighbouring file changes', async () => {
    const dir = tempDir({ 'a.yaml': 'one', other: '' });
    const { watcher, onChange } = await watching([join(dir, 'a.yaml')]);

    writeFileSync(join(dir, 'other'), 'x');
    await watcher.check();

    expect(onChange).not.toHaveBeenCalled();
  });

  it('detects a change of nanoseconds', async () => {
    const dir = tempDir({ 'a.yaml': 'one' });
    const file = join(dir, 'a.yaml');
    utimesSync(file, 1_700_000_000, 1_700_000_000.000_1);
    const { watcher, onChange } = await watching([file], { quietMs: 3_600_000 });

    utimesSync(file, 1_700_000_000, 1_700_000_000.000_2);
    await watcher.check();

    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it('is silent once closed, and survives a handler that throws', async () => {
    const file = join(tempDir({ 'a.yaml': 'one' }), 'a.yaml');
    const onChange = vi.fn(() => {
      throw new Error('broken handler');
    });
    const { watcher } = await watching([file], { onChange });

    writeFileSync(file, 'first change');
    await watcher.check();
    watcher.close();
    writeFileSync(file, 'second, longer change');
    await watcher.check();

    expect(onChange).toHaveBeenCalledTimes(1);
  });
});
