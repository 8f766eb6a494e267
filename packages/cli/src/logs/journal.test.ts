import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readJournal } from './journal.js';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-logs-'));
  file = join(directory, 'nodepool.log');
  await writeFile(file, 'INFO [node: 0000000007] made\nINFO [node: 0000000008] made\nINFO [node: 0000000007] gone\n');
});
afterEach(() => rm(directory, { recursive: true }));

describe('the journal', () => {
  /** A journalctl that writes down its arguments and prints these lines. */
  async function journalctl(script: string): Promise<string> {
    const program = join(directory, 'journalctl');
    await writeFile(program, `#!/bin/sh\necho "$@" > '${join(directory, 'arguments')}'\n${script}\n`, { mode: 0o755 });
    vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH'] ?? ''}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    return join(directory, 'arguments');
  }

  it('of the launcher is read where it has no file', async () => {
    const args = await journalctl(`cat '${file}'`);
    let text = '';

    await readJournal(false, (more) => (text += more), new AbortController().signal);

    expect(text).toBe(await readFile(file, 'utf8'));
    expect(await readFile(args, 'utf8')).toBe('--no-pager --quiet -o cat -u nodepool-launcher\n');
  });

  it('is followed until the signal fires', async () => {
    const args = await journalctl(`cat '${file}'; exec sleep 600`);
    const enough = new AbortController();
    let text = '';

    await readJournal(
      true,
      (more) => {
        text += more;
        if (text.includes('gone')) enough.abort();
      },
      enough.signal,
    );

    expect(text).toContain('[node: 0000000008] made');
    expect(await readFile(args, 'utf8')).toContain('-f -n all');
  });

  it('that cannot be read is reported with the error of journalctl', async () => {
    await journalctl('echo "no permission" >&2; exit 1');

    const reading = readJournal(false, () => {}, new AbortController().signal);

    await expect(reading).rejects.toThrow('journalctl -u nodepool-launcher ended with status 1: no permission');
  });
});
