import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { listenFor, PROGRAM, TERMINAL } from '../../test/program.js';

const LIMIT = { timeout: 50_000 };
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?25h\u001b[?1049l';

/** `nodepool top` on a terminal of its own. */
async function top() {
  const overview = { nodes: { ready: 3 }, providers: [], pools: [], errors: [], not_ready: [] };
  const url = await listenFor({
    '/api/v1/overview': { ...overview, requests: { waiting: 2, pending: 0, shown: [] } },
    '/api/v1/nodes?state=building': [],
  });
  const args = [TERMINAL, process.execPath, PROGRAM, 'top', '--every', '1s', '--url', url];
  const child = spawn('python3', args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, TERM: 'xterm' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    drawn: () => output,
    type: (text: string) => void child.stdin.write(`${JSON.stringify(text)}\n`),
    wake: () => void child.stdin.write('continue\n'),
    ended: once(child, 'close'),
  };
}

it('top leaves the terminal as it was on Ctrl-C', async () => {
  const terminal = await top();
  await expect.poll(terminal.drawn, LIMIT).toContain('requests: 2 waiting');

  terminal.type('\u0003');
  await terminal.ended;

  expect(terminal.drawn()).toContain(ENTER);
  expect(terminal.drawn().trimEnd()).toMatch(/@ended 0$/);
  expect(terminal.drawn().lastIndexOf(LEAVE)).toBeGreaterThan(terminal.drawn().lastIndexOf(ENTER));
});

it('top gives the terminal back on Ctrl-Z, and draws again when it continues', async () => {
  const terminal = await top();
  await expect.poll(terminal.drawn, LIMIT).toContain('requests: 2 waiting');

  terminal.type('\u001a');
  await expect.poll(terminal.drawn, LIMIT).toContain('@stopped cooked');
  const stopped = terminal.drawn();
  expect(stopped.lastIndexOf(LEAVE)).toBeGreaterThan(stopped.lastIndexOf(ENTER));
  terminal.wake();
  await expect.poll(() => terminal.drawn().slice(stopped.length), LIMIT).toContain('requests: 2 waiting');
  expect(terminal.drawn().slice(stopped.length)).toContain(ENTER);

  terminal.type('q');
  await terminal.ended;
  expect(terminal.drawn().trimEnd()).toMatch(/@ended 0$/);
});
