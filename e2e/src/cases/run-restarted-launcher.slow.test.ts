import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startSshd } from '@nodepool/test-servers';
import { expect, it, onTestFinished } from 'vitest';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup, staticConfig } from '../static-config.js';

const SESSION_S = 5;
/** Longer than the session timeout: an ensemble would have expired the session. */
const AWAY_MS = 3 * SESSION_S * 1_000;

it('nodepool run keeps its node while the launcher with the embedded ZooKeeper restarts, and a killed run frees it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-restart-'));
  const sshd = await startSshd({ count: 1, keyTypes: ['ed25519'] });
  onTestFinished(async () => {
    await sshd.stop();
    await rm(dir, { recursive: true });
  });
  const config = staticConfig(simpleSetup(nodesOf(sshd.hosts, 'small'), { zookeeperTimeoutSeconds: SESSION_S }));
  const launch = async () => {
    const launcher = await LauncherProcess.start(dir, 'launcher', config);
    onTestFinished(() => launcher.kill());
    await launcher.whenReady();
    return launcher;
  };
  const run = (...command: string[]) => {
    const child = NodepoolProcess.start([...first.commonOptions, 'run', 'small', '--timeout', '60s', '--', ...command]);
    onTestFinished(() => child.kill());
    return child;
  };
  const first = await launch();
  const job = run('sh', '-c', 'echo began; read line; echo $line');
  await expect.poll(() => job.stdout, { timeout: SOON_MS }).toBe('began\n');

  await first.stop();
  await delay(AWAY_MS);
  await launch();
  job.type('done\n');
  const status = await job.end();
  const killed = run('sh', '-c', 'echo began; sleep 1000');
  await expect.poll(() => killed.stdout, { timeout: SOON_MS }).toBe('began\n');
  await killed.kill();
  const next = await run('true').end();

  expect([status, job.stdout, next]).toEqual([0, 'began\ndone\n', 0]);
});
