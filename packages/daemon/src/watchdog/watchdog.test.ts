import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const built = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
const OPTIONS = '{ lookMs: 50, looks: 6 }';

/** Runs a script in a process with a watchdog; how it ended, and what it wrote. */
async function run(script: string): Promise<{ status: number | null; signal: string | null; text: string }> {
  const code = `
    import { writeSync } from 'node:fs';
    import { execFileSync } from 'node:child_process';
    import { startWatchdog } from ${built('../../dist/watchdog/watchdog.js')};
    import { inDriverScope } from ${built('../../../core/dist/launcher/providers/guard/driver-scope.js')};
    const say = (message, fields) => writeSync(1, message + ' ' + JSON.stringify(fields) + '\\n');
    const logger = { debug: say, info: say, warn: say, error: say, child: () => logger };
    await startWatchdog({ logger, close: () => writeSync(1, 'log closed') }, ${OPTIONS}).watching;
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  onTestFinished(() => void child.kill('SIGKILL'));
  const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { status, signal, text };
}

describe('the watchdog', () => {
  it('ends a process that a driver keeps busy, and says which, and where it is', async () => {
    const { status, text } = await run(`
      const scope = { provider: 'cloud-east', driver: 'odd', fault() {} };
      async function poll() { await null; spin(); }
      function spin() { for (;;) {} }
      inDriverScope(scope, () => setTimeout(poll, 20));
`);

    expect(text).toContain('Driver "odd" of provider "cloud-east" has kept the process busy for 0.3 s without a pause');
    expect(text).toMatch(/"frames":"spin \(/);
    expect(text).toContain('log closed');
    expect(status).toBe(1);
  });

  it("does not blame a driver for the launcher's own loop", async () => {
    const { status, text } = await run(`setTimeout(function own() { for (;;) {} }, 20);`);

    expect(text).toMatch(/^The process has been busy for 0\.3 s without a pause; it exits/);
    expect(status).toBe(1);
  });

  it('kills a process that is stuck in a system call', async () => {
    const { signal, text } = await run(`setTimeout(() => execFileSync('sleep', ['20']), 20);`);

    expect(text).toContain('cannot say where');
    expect(signal).toBe('SIGKILL');
  });

  it('keeps no process alive', async () => {
    const { status, text } = await run('');

    expect(text).toBe('');
    expect(status).toBe(0);
  });
});
