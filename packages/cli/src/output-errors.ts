let failure: Error | undefined;

/** A reader that has seen enough, such as `head`, is no error; what holds nodes listens for it by itself. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || failure !== undefined) return;
  failure = error;
  process.stderr.write(`nodepool: Cannot write to standard output: ${error.message}\n`);
}

/** Where complaints cannot be written nobody is left to complain to. */
function ignoreError(): void {}

/** Lets output that cannot be written, as on a full disk, be told and end with an error, instead of ending the process at once. */
export function watchOutput(): void {
  if (process.stdout.listeners('error').includes(onOutputError)) return;
  process.stdout.on('error', onOutputError);
  process.stderr.on('error', ignoreError);
}

/** Whether some of the output could not be written although somebody reads it. */
export const isOutputLost = (): boolean => failure !== undefined;
