/**
 * Lets a service outlive the full disk, or the reader that is gone, behind its standard streams: what cannot be written is
 * lost, which standard error is told once. Without this the first such line would end the process.
 * @param name - of the program
 */
export function outliveStreams(name: string): void {
  let isTold = false;
  process.stdout.on('error', ({ message }: Error) => {
    if (isTold) return;
    isTold = true;
    process.stderr.write(`${name}: cannot write to standard output, and continues without: ${message}\n`);
  });
  process.stderr.on('error', () => undefined); // there is nowhere left to tell it
}

/** Writes a text that was asked for. @throws what it could not be written for, unless its reader has seen enough */
export async function printText(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.once('error', () => undefined); // the callback knows it as well
    process.stdout.write(`${text}\n`, (error) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error);
      else resolve();
    });
  });
}
