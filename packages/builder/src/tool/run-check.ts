import type { Clock } from '@nodepool/zk-protocol';
import { runTool, type ToolResult } from './run-tool.js';
import type { Sandbox } from './sandbox.js';
import { SecretMask, type Variables } from './secrets.js';

/** A check program of the operator, and how to run it. */
export interface CheckOrder {
  /** Configuration key of the program, e.g. `post-upload-hook`. */
  readonly key: string;
  /** Program and arguments, run without a shell. */
  readonly command: readonly string[];
  readonly env: Variables;
  /** Ends all child processes with the program, and the program with the builder. */
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Number of characters to keep from the end of the output. */
const MAX_SAID = 2_000;

/** Result of a check. */
export interface CheckResult {
  /** End of the output, with secrets masked. */
  readonly said: string;
  /** Reason for the refusal; `undefined` if the exit status is 0. */
  readonly refusal: string | undefined;
  /** Whether the program ran at all. */
  readonly hasRun: boolean;
}

/** Runs the program. Never rejects. */
export async function runCheck({ key, command, ...run }: CheckOrder): Promise<CheckResult> {
  const mask = new SecretMask(run.env);
  let said = '';
  const result = await runTool({
    ...{ command, ...run },
    onLine: (line) => {
      said = (said + mask.hide(line)).slice(-MAX_SAID);
    },
  });
  said = said.trim();
  if (result.ended === 'exit' && result.code === 0) return { said, refusal: undefined, hasRun: true };
  const refusal = `${key} "${command[0] ?? ''}" ${describe(result)}${said === '' ? '' : `; it said: ${said}`}`;
  return { said, refusal, hasRun: result.ended !== 'not-started' && result.ended !== 'aborted' };
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
