import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PROGRAM, TERMINAL } from '../../test/program.js';

const BUILD = `debian-${'0123456789abcdef'.repeat(2)}`;
/** Sets the title of a terminal, clears it, in two ways, and goes back in the line. */
const HOSTILE = 'good\u001b]0;title\u0007 \u001b[2J \u009b2J bad\rworse\n';

/** Runs `nodepool image-log` of a log, with words before the command. @returns what it writes to standard output */
async function imageLog(log: string | Buffer, ...before: string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-image-log-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'nodepool.yaml');
  await writeFile(file, `build-log-dir: ${directory}\n`);
  await writeFile(join(directory, `${BUILD}.log`), log);
  const [command = '', ...args] = [...before, process.execPath, PROGRAM, '-c', file, 'image-log', BUILD];
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}

it('image-log shows control characters of a log on a terminal, and lets none drive it', async () => {
  const shown = await imageLog(HOSTILE, 'python3', TERMINAL);

  expect(shown).toContain('good\\x1b]0;title\\x07 \\x1b[2J \\x9b2J bad\\rworse');
  expect(shown.replace(/\r?\n/g, '')).not.toMatch(/\p{Cc}/u);
});

it('image-log shows letters whole, wherever they are in a log', async () => {
  const letters = `${'x'.repeat(65_535)}ö${'漢'.repeat(50_000)}\n`;

  expect((await imageLog(letters, 'python3', TERMINAL)).replace(/\r\n/g, '\n')).toContain(letters);
});

it('image-log shows line ends of Windows as line ends, wherever they are in a log', async () => {
  const shown = await imageLog(`${'x'.repeat(65_535)}\r\nnext\r\n`, 'python3', TERMINAL);

  expect(shown.replace(/\r\n/g, '\n')).toContain('x\nnext\n');
});

it('image-log shows that a log ends within a letter', async () => {
  const shown = await imageLog(
    Buffer.concat([Buffer.from('cut here: '), Buffer.from('漢').subarray(0, 2)]),
    'python3',
    TERMINAL,
  );

  expect(shown).toContain('cut here: \ufffd');
});

it('image-log writes the log unchanged to a pipe', async () => {
  expect(await imageLog(HOSTILE)).toBe(HOSTILE);
});
