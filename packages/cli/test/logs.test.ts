import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GrowingFile } from '../src/logs/growing-file.js';
import { readJournal } from '../src/logs/journal.js';
import { nodepool } from './program.js';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-logs-'));
  file = join(directory, 'nodepool.log');
  await writeFile(file, 'INFO [node: 0000000007] made\nINFO [node: 0000000008] made\nINFO [node: 0000000007] gone\n');
});
afterEach(() => rm(directory, { recursive: true }));

describe('nodepool logs', () => {
  it('shows the lines about a node', async () => {
    const { status, stdout } = await nodepool('logs', '--node', '0000000007', '--file', file);

    expect([status, stdout]).toEqual([0, 'INFO [node: 0000000007] made\nINFO [node: 0000000007] gone\n']);
  });

  it('says where it looked when there are none, with status 1', async () => {
    const { status, stdout, stderr } = await nodepool('logs', '--request', '200-0000000001', '--file', file);

    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`No line of ${file} names 200-0000000001`);
  });

  it.each([
    [['--node', '7'], '--node needs an id such as 0000000042, got "7"'],
    [['--request', '0000000007'], '--request needs an id such as 200-0000000042, got "0000000007"'],
  ])('is refused with %j, which no log line has', async (args, message) => {
    expect(await nodepool('logs', ...args)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(message) as string,
    });
  });

  it('names the file that it cannot read', async () => {
    const { status, stderr } = await nodepool('logs', '--node', '0000000007', '--file', join(directory, 'none'));

    expect(status).toBe(1);
    expect(stderr).toContain(`Cannot read the log ${join(directory, 'none')}: ENOENT`);
  });

  it.each([[[]], [['--node', '7', '--request', '200-1']]])('is refused with %j', async (args) => {
    const { status, stderr } = await nodepool('logs', ...args);

    expect(status).toBe(2);
    expect(stderr).toContain('logs needs one of --node, --request and --build');
  });
});

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

  it('is followed until the person has seen enough', async () => {
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

  it('that cannot be read is told with what journalctl says', async () => {
    await journalctl('echo "no permission" >&2; exit 1');

    const reading = readJournal(false, () => {}, new AbortController().signal);

    await expect(reading).rejects.toThrow('journalctl -u nodepool-launcher ended with status 1: no permission');
  });
});

it('is followed into the file that takes its place', async () => {
  const log = new GrowingFile(file);
  let text = '';
  const read = () => log.read((more) => (text += more));
  await writeFile(file, 'one\n');
  await read();
  await appendFile(file, 'two\n');
  await rename(file, `${file}.1`);
  await read();
  await writeFile(file, 'three\n');
  await read();
  await writeFile(file, 'x\n');
  await read();
  await log.close();

  expect(text).toBe('one\ntwo\nthree\nx\n');
});
