import { spawn, type ChildProcess } from 'node:child_process';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import { signalOf, type Sandbox } from './sandbox.js';

/** One run of a program. */
export interface ToolRun {
  /** Program and arguments, run without a shell. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Sandbox;
  /** Called with each line, including its line end. The program is blocked while the call is pending. */
  readonly onLine: (line: string) => void | Promise<void>;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Kills the program. */
  readonly signal: AbortSignal;
}

/** How a program ended. */
export type ToolResult =
  | { readonly ended: 'exit'; readonly code: number }
  | { readonly ended: 'signal'; readonly signal: string }
  | { readonly ended: 'timeout' | 'aborted' }
  | { readonly ended: 'not-started'; readonly error: Error };

/** Maximum line length. Longer lines are passed on in parts. */
const MAX_LINE = 65_536;
/** Grace period for background processes to keep the output open after the program ends. */
const LINGER_MS = 2_000;

/** Runs a program until exit, timeout or abort, then kills its process group. Never rejects. */
export async function runTool(run: ToolRun): Promise<ToolResult> {
  const [program = '', ...args] = [...run.sandbox, ...run.command];
  const child = spawn(program, args, {
    detached: true,
    env: { ...run.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stopped: 'timeout' | 'aborted' | undefined;
  let cancelLinger: CancelTimer | undefined;
  const stop = (why: 'timeout' | 'aborted') => {
    stopped ??= why;
    killGroup(child);
  };
  const cancelTimeout = run.clock.setTimer(run.timeoutMs, () => stop('timeout'));
  const onAbort = () => stop('aborted');
  run.signal.addEventListener('abort', onAbort);
  if (run.signal.aborted) onAbort();
  const end = waitForEnd(child, run.sandbox).finally(() => {
    cancelLinger = run.clock.setTimer(LINGER_MS, () => {
      child.stdout.destroy();
      child.stderr.destroy();
    });
  });
  try {
    const [result] = await Promise.all([end, follow(child.stdout, run), follow(child.stderr, run)]);
    return stopped === undefined ? result : { ended: stopped };
  } finally {
    killGroup(child);
    cancelLinger?.();
    cancelTimeout();
    run.signal.removeEventListener('abort', onAbort);
  }
}

/** Kills all processes in the program's process group. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function waitForEnd(child: ChildProcess, sandbox: Sandbox): Promise<ToolResult> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ended: 'not-started', error }));
    child.on('exit', (code, signal) => {
      // A background process would keep the pipes open.
      killGroup(child);
      const ending = signal ?? signalOf(sandbox, code ?? 0);
      resolve(ending === undefined ? { ended: 'exit', code: code ?? 1 } : { ended: 'signal', signal: ending });
    });
  });
}

/** Passes on lines with their line ends, at the speed of the consumer. */
async function follow(stream: NodeJS.ReadableStream, { onLine }: ToolRun): Promise<void> {
  stream.setEncoding('utf8');
  let rest = '';
  try {
    for await (const chunk of stream) {
      const lines = (rest + String(chunk)).split(/(?<=\n)/);
      const last = lines.at(-1) ?? '';
      rest = last.endsWith('\n') || last.length > MAX_LINE ? '' : (lines.pop() ?? '');
      for (const line of lines) await onLine(line);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
  if (rest !== '') await onLine(rest);
}
