import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../bin/nodepool.js', import.meta.url));
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url));
const LIMIT = { timeout: 50_000 };
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?25h\u001b[?1049l';

/** A launcher's web server. @returns its URL */
async function listen(): Promise<string> {
  const overview = { nodes: { ready: 3 }, providers: [], pools: [], errors: [], not_ready: [] };
  const answers: Readonly<Record<string, unknown>> = {
    '/api/v1/overview': { ...overview, requests: { waiting: 2, pending: 0, shown: [] } },
  };
  const web = createServer((request, response) => response.end(JSON.stringify(answers[request.url ?? ''] ?? [])));
  onTestFinished(() => void web.close());
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
}

/** `nodepool top` on a terminal of its own. */
async function top() {
  const url = await listen();
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
