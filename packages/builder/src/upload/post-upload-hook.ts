import type { Clock } from '@nodepool/zk-protocol';
import { runTool, type ToolResult } from '../tool/run-tool.js';
import type { Sandbox } from '../tool/sandbox.js';

/** What the hook is told, as its three arguments, and how it runs. */
export interface HookOrder {
  readonly program: string;
  readonly provider: string;
  readonly externalId: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nothing that the hook has started outlives it, or the builder. */
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Characters of what the program said last that are kept. */
const MAX_SAID = 2_000;

/** Runs the program without a shell. @returns why the upload is refused, with what the program said; `undefined`: it is good */
export async function runPostUploadHook(order: HookOrder): Promise<string | undefined> {
  const { program, provider, externalId, file, env, sandbox, clock, timeoutMs, signal } = order;
  let said = '';
  const result = await runTool({
    command: [program, provider, externalId, file],
    ...{ env, sandbox, clock, timeoutMs, signal },
    onLine: (line) => {
      said = (said + line).slice(-MAX_SAID);
    },
  });
  if (result.ended === 'exit' && result.code === 0) return undefined;
  return `post-upload-hook "${program}" ${describe(result)}${said.trim() === '' ? '' : `; it said: ${said.trim()}`}`;
}

function describe(result: ToolResult): string {
  switch (result.ended) {
    case 'exit':
      return `ended with exit code ${result.code}`;
    case 'signal':
      return `was ended by ${result.signal}`;
    case 'timeout':
      return 'took too long';
    case 'aborted':
      return 'was ended with the upload';
    case 'not-started':
      return `cannot be run: ${result.error.message}`;
  }
}
