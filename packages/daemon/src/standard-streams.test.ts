import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';

// These tests run the built module, in a process whose streams they choose.
const MODULE = new URL('../dist/standard-streams.js', import.meta.url).href;

/** Runs code that has the functions of the module. @param stdout - where its output goes */
async function run(code: string, stdout: number | 'pipe') {
  const imports = `import { outliveStreams, printText } from '${MODULE}';`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', `${imports} ${code}`], {
    stdio: ['pipe', stdout, 'pipe'],
  });
  child.stdout?.destroy(); // no reader
  child.stdin?.end();
  const [stderr] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);
  return { status: child.exitCode, stderr };
}

async function fullDisk(): Promise<number> {
  const full = await open('/dev/full', 'w');
  onTestFinished(() => full.close());
  return full.fd;
}

/** Writes when its input has ended, two lines, and then does what it is for. */
const SERVICE = `outliveStreams('nodepool-test');
for await (const _ of process.stdin);
for (let line = 0; line < 2; line++) await new Promise((done) => process.stdout.write('line\\n', () => setImmediate(done)));
process.exit(7);`;

it.each([
  ['on a full disk', fullDisk, 'ENOSPC: no space left on device, write'],
  ['without a reader', () => Promise.resolve('pipe' as const), 'write EPIPE'],
])('a service continues when its output is lost, and says so once: %s', async (_what, makeStdout, reason) => {
  expect(await run(SERVICE, await makeStdout())).toEqual({
    status: 7,
    stderr: `nodepool-test: cannot write to standard output, and continues without: ${reason}\n`,
  });
});

it('a text that was asked for and cannot be written is an error', async () => {
  const code = `await printText('help').catch((error) => { process.stderr.write(error.code); process.exitCode = 3; });`;

  expect(await run(code, await fullDisk())).toEqual({ status: 3, stderr: 'ENOSPC' });
});
