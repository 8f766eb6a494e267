let failure: Error | undefined;

/** A closed pipe, as of `head`, is not an error; commands that hold nodes listen for it themselves. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || failure !== undefined) return;
  failure = error;
  process.stderr.write(`nodepool: Cannot write to standard output: ${error.message}\n`);
}

/** An error of standard error cannot be reported anywhere. */
function ignoreError(): void {}

/** Reports output that cannot be written, as on a full disk, once, and lets the command finish. */
export function watchOutput(): void {
  if (process.stdout.listeners('error').includes(onOutputError)) return;
  process.stdout.on('error', onOutputError);
  process.stderr.on('error', ignoreError);
}

/** Whether output was lost for another reason than a closed pipe. */
export const isOutputLost = (): boolean => failure !== undefined;
