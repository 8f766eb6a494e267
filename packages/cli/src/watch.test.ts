import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PROGRAM } from '../test/program.js';
import { useWorld } from '../test/world.js';

const get = useWorld();

describe('--watch', () => {
  it('looks again and again over one connection, until a signal', async () => {
    const argv = [...get().options(), 'list', '--watch', '0.2s', '--json', '--fields', 'id'];
    const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (output += more));
    await expect.poll(() => output).toMatch(/^\[\]\n\[\]\n/);

    const id = await get().createNode();
    await expect.poll(() => output).toContain(`[{"id": "${id}"}]\n`);
    child.kill('SIGINT');

    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
