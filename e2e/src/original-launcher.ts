import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What to start a launcher of the original's steps with. */
export interface OriginalOptions {
  /** Of ZooKeeper. */
  readonly hosts: string;
  readonly name: string;
  readonly labels: readonly string[];
  /** Nodes at a time; with 0 it declines all requests. */
  readonly most: number;
  /** Neither takes nor declines anything. */
  readonly isIdle?: boolean;
  /** Free nodes to keep of each label. Default: none. */
  readonly minReady?: number;
  /** The provider and fake cloud that it shares with others. Default: one of its own, whose machines need no cloud. */
  readonly shares?: { readonly provider: string; readonly cloudDir: string };
}

/** Starts a launcher of the original's steps, and waits until its pool is registered. */
export async function startOriginal(options: OriginalOptions): Promise<ChildProcess> {
  const { hosts, name, labels, most, isIdle, minReady = 0, shares } = options;
  const script = fileURLToPath(new URL('../python/original_launcher.py', import.meta.url));
  const provider = ['--provider', shares?.provider ?? 'original', ...(shares ? ['--cloud', shares.cloudDir] : [])];
  const what = ['--hosts', hosts, '--name', name, ...provider, '--most', `${most}`, '--min-ready', `${minReady}`];
  const offers = labels.flatMap((label) => ['--label', label]);
  const child = spawn('/usr/bin/python3', [script, ...what, ...offers, ...(isIdle ? ['--idle'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** Ends it at once. */
export const killOriginal = (child: ChildProcess): Promise<void> => end(child, 'SIGKILL');

/** Ends it once its pass is over, so that no machine is left without its record. */
export const stopOriginal = (child: ChildProcess): Promise<void> => end(child, 'SIGTERM');

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
