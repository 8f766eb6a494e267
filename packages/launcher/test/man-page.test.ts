import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseCommandLine, serviceManPage } from '@nodepool/daemon';
import { COMMAND_LINE } from '../src/arguments.js';
import manifest from '../package.json' with { type: 'json' };

const PAGE = fileURLToPath(new URL('../man/nodepool-launcher.8', import.meta.url));

/** Programs that find mistakes in a man page, of which a machine has some. */
const CHECKERS = [
  ['mandoc', '-T', 'lint', '-W', 'warning'],
  ['groff', '-man', '-ww', '-z', '-K', 'utf8'],
].filter(([program = '']) => spawnSync(program, ['--version']).error === undefined);

describe('the man page', () => {
  it('is that of the command line as it is now; otherwise run: npm run docs', async () => {
    expect(await readFile(PAGE, 'utf8')).toBe(serviceManPage(COMMAND_LINE));
    expect(manifest.man).toEqual(['man/nodepool-launcher.8']);
    expect(manifest.files).toContain('man');
  });

  it.each(CHECKERS)('has no mistakes that %s finds', (program, ...args) => {
    const { stdout, stderr } = spawnSync(program, [...args, PAGE], { encoding: 'utf8' });

    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !/missing date/.test(line));
    expect(lines).toEqual([]);
  });

  it('has every option of --help', async () => {
    const surroundings = { home: '/root', cwd: '/', version: '1' };
    const help = await parseCommandLine(COMMAND_LINE, ['--help'], surroundings);
    const page = (await readFile(PAGE, 'utf8')).replaceAll('\\-', '-');
    const named = 'print' in help ? [...help.print.matchAll(/^\s+(?:-h, )?(--?[a-z][\w-]*)/gm)] : [];

    expect(named.length).toBeGreaterThan(8);
    for (const [, option = ''] of named) expect(page).toContain(option.replace(/^--webapp$/, '--no-webapp'));
  });
});
