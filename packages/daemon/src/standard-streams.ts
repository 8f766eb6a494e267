/**
 * Keeps a service running when its standard streams cannot be written, for example because of a full disk or a closed pipe.
 * Drops the lines and reports that once on standard error. Without this, the first such line would end the process.
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

/** Writes a text to standard output. @throws the error of the stream, except for a closed pipe */
export async function printText(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.once('error', () => undefined); // the callback knows it as well
    process.stdout.write(`${text}\n`, (error) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error);
      else resolve();
    });
  });
}
