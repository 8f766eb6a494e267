import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { main } from '../src/main.js';

/** The program as it is installed, for tests that need a process of its own: it must have been built. */
export const PROGRAM = fileURLToPath(new URL('../bin/nodepool.js', import.meta.url));
/** Runs a program on a pseudo-terminal: `python3 TERMINAL program args`. */
export const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url));

/** Output of one call of the program, and its exit status. */
export interface Outcome {
  status: unknown;
  stdout: string;
  stderr: string;
}

/** Runs `nodepool` with these arguments, in this process. */
export function nodepool(...argv: string[]): Promise<Outcome> {
  return nodepoolUntil(() => false, ...argv);
}

/** Runs `nodepool` in this process, and interrupts it, as Ctrl-C does, as soon as it has printed enough. */
export async function nodepoolUntil(isEnough: (stdout: string) => boolean, ...argv: string[]): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' };
  const foreign = new Set(process.listeners('SIGINT'));
  const interrupt = () => {
    for (const listener of process.listeners('SIGINT')) if (!foreign.has(listener)) listener('SIGINT');
  };
  let isInterrupted = false;
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream] += String(text);
      if (!isInterrupted && isEnough(printed.stdout)) {
        isInterrupted = true;
        setImmediate(interrupt);
      }
      return true;
    }),
  );
  try {
    await main(argv);
    return { status: process.exitCode, ...printed };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Starts a web server that runs until the test is over. @returns its URL */
export async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a web server that answers these paths with JSON, and others with status 404. @returns its URL */
export function listenFor(answers: Readonly<Record<string, unknown>>): Promise<string> {
  return listen((request, response) => {
    const body = answers[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200).end(JSON.stringify(body ?? { error: 'unknown-request' }));
  });
}
