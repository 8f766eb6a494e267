import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** From `dist`, for a process of its own: a signal to its group must not reach the tests. It ends with the status of the error. */
const moduleOf = (path: string) => JSON.stringify(new URL(`../dist/${path}.js`, import.meta.url));
const ZK_PROTOCOL = JSON.stringify(new URL('../../zk-protocol/dist/index.js', import.meta.url));
const PROGRAM = (transfer: string) => `
  const { copyTo } = await import(${moduleOf('ssh/copy')});
  const { fetchFrom } = await import(${moduleOf('ssh/fetch')});
  const { Interrupts } = await import(${moduleOf('terminal/interrupts')});
  const { patientClock: clock } = await import(${ZK_PROTOCOL});
  const { signal } = new Interrupts();
  const node = { where: 'node 1', script: (...words) => words.slice(-1) };
  await ${transfer}.catch((error) => { console.error(error.message); process.exit(error.exitStatus ?? 1); });`;

/** Runs a transfer in a directory and in a process group of its own, with an `ssh` that is a shell script. */
export async function runTransfer(directory: string, transfer: string, ssh: string, cwd = directory) {
  writeFileSync(join(directory, 'ssh'), `#!/bin/sh\n${ssh}\n`, { mode: 0o755 });
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM(transfer)], {
    ...{ detached: true, stdio: ['ignore', 'ignore', 'pipe'], cwd },
    env: { ...process.env, PATH: `${directory}:${process.env['PATH']}` },
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, errors };
}
