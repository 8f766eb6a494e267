import { open, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isProcessRunning, readEmbeddedServerInfo } from '@nodepool/core/config';
import { LAUNCHER } from './binaries.js';
import { startNode } from './child.js';
import type { Child } from './child.js';
import type { Cloud } from './cloud.js';
import { LOOPBACK } from './configuration.js';
import { QuickStartError } from './terminal.js';

const POLL_MS = 50;
const READY_TIMEOUT_MS = 120_000;
const LAST_LINES = 15;

/** Two launchers cannot share a state directory: says so before anything is started. */
export function refuseSecondLauncher(stateDir: string): void {
  const info = readEmbeddedServerInfo(stateDir);
  if (info === undefined || !isProcessRunning(info.pid)) return;
  throw new QuickStartError(
    `process ${info.pid} already runs a launcher in ${stateDir}: stop that quick start first (or: kill ${info.pid})`,
  );
}

/** Starts `nodepool-launcher -f`, which writes its log to `logFile`. */
export async function startLauncher(
  configFile: string,
  stateDir: string,
  logFile: string,
  env: NodeJS.ProcessEnv,
  cloud: Cloud,
): Promise<Child> {
  const log = await open(logFile, 'w');
  const args = ['-f', '-c', configFile, '--state-dir', stateDir, '--drain-timeout', '5'];
  const child = startNode(LAUNCHER, args, {
    stdio: ['ignore', log.fd, log.fd],
    env: { ...env, ...(cloud.stopCommand && { QUICKSTART_AFTERWARDS: JSON.stringify(cloud.stopCommand) }) },
  });
  await log.close();
  return child;
}

/** Before our launcher listens, another service may answer on the port that it will not get. */
async function isReady(webPort: number, logFile: string, signal: AbortSignal): Promise<boolean> {
  try {
    if (!(await readFile(logFile, 'utf8')).includes('Web server listening')) return false;
    const answer = await fetch(`http://${LOOPBACK}:${webPort}/ready`, { signal });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false; // not listening yet, or we are being stopped
  }
}

/** Waits for `/ready`. @throws QuickStartError with the end of the log when the launcher ends before */
export async function waitUntilReady(
  launcher: Child,
  webPort: number,
  logFile: string,
  signal: AbortSignal,
): Promise<void> {
  const { process: child } = launcher;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  while (!(await isReady(webPort, logFile, limit))) {
    signal.throwIfAborted();
    if (child.exitCode !== null || limit.aborted) {
      const log = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-LAST_LINES).join('\n');
      const what = limit.aborted ? 'did not become ready' : `ended with status ${child.exitCode}`;
      throw new QuickStartError(`the launcher ${what}; the end of ${logFile}:\n${log}`);
    }
    await delay(POLL_MS);
  }
}
