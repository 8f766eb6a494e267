import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

/** From `dist`, for a process of its own: a signal to its group must not reach the tests. */
const MODULE = fileURLToPath(new URL('../../dist/run/group-signals.js', import.meta.url));

const PROGRAM = `
  const { GroupSignals } = await import(${JSON.stringify(MODULE)});
  const clock = {
    now: () => Date.now(),
    setTimer: (ms, fn) => { const timer = setTimeout(fn, ms); return () => clearTimeout(timer); },
  };
  const signals = await GroupSignals.start(clock);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(name, async () => console.log(name, await signals.wasForGroup(name)));
  process.stdin.on('end', () => { signals.stop(); process.exit(); }).resume();
  console.log('ready');`;

/** A process in a group of its own, with what it says about signals. */
async function start() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    ...{ detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await expect.poll(() => said).toBe('ready\n');
  return { child, pid: child.pid ?? 0, said: () => said.replace('ready\n', '') };
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'tells %s for the group from that for one process',
  async (signal) => {
    const { pid, said } = await start();

    process.kill(-pid, signal);
    await expect.poll(said).toBe(`${signal} true\n`);
    process.kill(pid, signal);

    await expect.poll(said).toBe(`${signal} true\n${signal} false\n`);
  },
);

it('knows a signal to the group when it has ended another process of it', async () => {
  const program = PROGRAM.replace(
    /process\.stdin\.on[^]*/,
    `
    const { spawn } = await import('node:child_process');
    const child = spawn('/bin/sh', ['-c', "trap 'exit 255' INT; kill -s INT 0; exit 255"]);
    child.on('exit', async () => { console.log(await signals.settle()); process.exit(); });`,
  );
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    ...{ detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await once(child, 'close');

  expect(said.split('\n')).toContain('SIGINT');
});

it('leaves no process behind', async () => {
  const { child, pid } = await start();

  child.stdin.end();
  await once(child, 'exit');

  await expect.poll(() => isGroupRunning(pid)).toBe(false);
});

function isGroupRunning(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}
