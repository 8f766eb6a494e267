import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/commands/index.js';

const PAGE = fileURLToPath(new URL('../man/nodepool.1', import.meta.url));

describe('the man page', () => {
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
