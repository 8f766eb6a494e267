import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { PROGRAM, TERMINAL } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

/** Sets the title of a terminal, and clears it in two ways. */
const HOSTILE = 'bad\u001b]0;title\u0007\u001b[2J\u009b2J';
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** Runs `nodepool` on a terminal. @returns what it shows so far, and its end */
function show(...args: string[]) {
  const child = spawn('python3', [TERMINAL, process.execPath, PROGRAM, ...get().options(), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    shown: () => output,
    type: (text: string) => child.stdin.write(`${JSON.stringify(text)}\n`),
    end: once(child, 'close'),
  };
}

const controls = (text: string) => text.replace(/\r?\n/g, '').match(/\p{Cc}/gu) ?? [];

it.each([
  [['list', '--detail']],
  [['list', '--detail', '--no-headers']],
  [['list', '--detail', '--format', 'json']],
  [['list', '--detail', '--format', 'yaml']],
  [['list', '--fields', 'id,launch_error', '--format', 'yaml']],
  [['request-list', '--detail']],
  [['info', 'rack']],
  [['cancel', `no${HOSTILE}`]],
])('%j shows texts of others on a terminal, and lets none drive it', async (argv) => {
  await get().createNode({
    comment: HOSTILE,
    holdJob: HOSTILE,
    launchError: HOSTILE,
    hostname: HOSTILE,
    externalId: HOSTILE,
  });
  await get().createRequest(['small'], { requestor: HOSTILE });

  const { shown, end } = show(...argv);
  await end;

  expect(controls(shown())).toEqual([]);
  expect(shown()).toMatch(/bad|\+---/);
});

it('--watch clears the terminal before each refresh, but texts from outside cannot', async () => {
  await get().createNode({ comment: HOSTILE });

  const { shown, type, end } = show('list', '--detail', '--watch', '0.2s');
  await expect.poll(() => shown().split('Every 0.2 s').length, { timeout: 50_000 }).toBeGreaterThan(2);
  type('\u0003');
  await end;

  const [before = '', ...looks] = shown().split(CLEAR_SCREEN);
  expect(before).toBe('');
  expect(looks.length).toBeGreaterThan(1);
  expect(controls(looks.join('').replaceAll('^C', ''))).toEqual([]);
});

it.each(['table', 'yaml', 'csv', 'json'])(
  '--format %s writes no control characters of others to a pipe',
  async (format) => {
    await get().createNode({ comment: HOSTILE, holdJob: HOSTILE, launchError: HOSTILE, hostname: HOSTILE });

    const child = spawn(process.execPath, [PROGRAM, ...get().options(), 'list', '--detail', '--format', format], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');

    expect(output).toContain('bad');
    expect(controls(output)).toEqual([]);
  },
);
