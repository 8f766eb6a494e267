import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { freePorts } from './ports.js';

const PORTS = fileURLToPath(new URL('../dist/ports.js', import.meta.url));

/** Picks ports in another test process, which exits without releasing them. */
async function pickElsewhere(count: number): Promise<number[]> {
  const program = `
    const { freePorts } = await import(${JSON.stringify(PORTS)});
    process.stdout.write(JSON.stringify(await freePorts(${count})), () => process.kill(process.pid, 'SIGKILL'));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return JSON.parse(output) as number[];
}

describe('ports for servers of tests', () => {
  it('are never assigned twice, nor to two processes', async () => {
    const lists = await Promise.all([freePorts(400), freePorts(400)]);

    const ports = lists.flat();
    expect(new Set(ports).size).toBe(800);
    expect(ports.every((port) => existsSync(join(tmpdir(), 'nodepool-test-ports', String(port))))).toBe(true);
  });

  it('are available again after their process has died', async () => {
    const [port] = await pickElsewhere(1);
    const claim = join(tmpdir(), 'nodepool-test-ports', String(port));
    expect(existsSync(claim)).toBe(true);

    await pickElsewhere(1);

    expect(existsSync(claim)).toBe(false);
  });
});
