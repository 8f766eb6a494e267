import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages } from '@nodepool/test-servers';

/** The Python that has Debian's kazoo. */
const PYTHON = '/usr/bin/python3';

/** One kazoo lock in a process of its own. */
export interface KazooLocker {
  /** Sends a command of kazoo-locker.py. @returns its answer */
  ask(command: 'try' | 'wait' | 'wait-briefly' | 'release' | 'contenders'): Promise<string>;
  /** SIGKILL: the session lives on until it expires. */
  kill(): void;
  stop(): Promise<void>;
}

/** Installs kazoo where that is possible. @throws when it is missing and cannot be installed */
export function ensureKazoo(): Promise<void> {
  return ensureDebianPackages(['python3-kazoo']);
}

/** Connects a kazoo client that can take the lock at `root`. */
export async function startKazooLocker(
  hosts: string,
  root: string,
  identifier: string,
  kind: 'ephemeral' | 'lasting' = 'ephemeral',
): Promise<KazooLocker> {
  const script = fileURLToPath(new URL('./kazoo-locker.py', import.meta.url));
  const child = spawn(PYTHON, [script, hosts, root, identifier, kind], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waiting: ((line: string) => void)[] = [];
  const nextLine = () => new Promise<string>((resolve) => waiting.push(resolve));
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  await nextLine();
  return {
    ask(command) {
      child.stdin.write(`${command}\n`);
      return nextLine();
    },
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.stdin.end('stop\n');
      await exited;
    },
  };
}
