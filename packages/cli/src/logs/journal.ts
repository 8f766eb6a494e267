import { spawn } from 'node:child_process';
import { CliError } from '../command/errors.js';

const UNIT = 'nodepool-launcher';

/**
 * Reads what the launcher has written to the journal of systemd. Resolves at its end, or when the signal fires.
 * @throws CliError where there is no journal
 */
export function readJournal(follow: boolean, take: (text: string) => void, signal: AbortSignal): Promise<void> {
  const args = ['--no-pager', '--quiet', '-o', 'cat', '-u', UNIT, ...(follow ? ['-f', '-n', 'all'] : [])];
  return new Promise((resolve, reject) => {
    const child = spawn('journalctl', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = () => child.kill();
    signal.addEventListener('abort', stop, { once: true });
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    child.on('error', (error) => reject(new CliError(`There is no journal: ${error.message}`, { cause: error })));
    child.on('close', (status) => {
      signal.removeEventListener('abort', stop);
      if (status === 0 || signal.aborted) resolve();
      else reject(new CliError(`journalctl -u ${UNIT} ended with status ${status}: ${complaint.trim()}`));
    });
  });
}
