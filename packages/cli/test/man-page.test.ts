import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/commands/index.js';
import { manPage } from '../src/help/man-page.js';
import manifest from '../package.json' with { type: 'json' };

const PAGE = fileURLToPath(new URL('../man/nodepool.1', import.meta.url));

/** Programs that find mistakes in a man page, of which a machine has some. */
const CHECKERS = [
  ['mandoc', '-T', 'lint', '-W', 'warning'],
  ['groff', '-man', '-ww', '-z', '-K', 'utf8'],
].filter(([program = '']) => spawnSync(program, ['--version']).error === undefined);

describe('the man page', () => {
  it('is that of the commands as they are now; otherwise run: npm run docs', async () => {
    expect(await readFile(PAGE, 'utf8')).toBe(manPage(COMMANDS));
  });

  it('comes with the package', () => {
    expect(manifest.man).toEqual(['man/nodepool.1']);
    expect(manifest.files).toContain('man');
  });

  it.each(CHECKERS)('has no mistakes that %s finds', (program, ...args) => {
    const { stdout, stderr } = spawnSync(program, [...args, PAGE], { encoding: 'utf8' });

    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !/missing date/.test(line));
    expect(lines).toEqual([]);
  });

  it('has every command and every option', async () => {
    const page = (await readFile(PAGE, 'utf8')).replaceAll('\\-', '-');

    for (const { name, options = {} } of COMMANDS) {
      expect(page).toContain(`nodepool ${name}`);
      for (const [option, { default: value }] of Object.entries(options)) {
        expect(page).toContain(value === true ? `--no-${option}` : `--${option}`);
      }
    }
  });
});
