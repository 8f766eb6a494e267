import { createRequire } from 'node:module';
import { runProgram } from '@nodepool/daemon';
import { COMMAND_LINE } from './arguments.js';

/**
 * Runs the builder until a signal ends it; without `-f` and `-d`, in a detached process of its own.
 * @param argv - without node and script
 */
export function main(argv: readonly string[]): Promise<void> {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  return runProgram(
    {
      commandLine: COMMAND_LINE,
      version,
      logFile: '/var/log/nodepool/nodepool-builder.log',
      async createService(context) {
        const { createService } = await import('./start-service.js');
        return createService(context);
      },
    },
    argv,
  );
}
