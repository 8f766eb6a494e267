import { expect, it } from 'vitest';
import { loadCommands } from '../commands/index.js';
import { manPage } from '../help/man-page.js';

it('the man page has every command and every option', async () => {
  const commands = await loadCommands();
  const page = manPage(commands).replaceAll('\\-', '-');

  for (const { name, options = {} } of commands) {
    expect(page).toContain(`nodepool ${name}`);
    for (const [option, { default: value }] of Object.entries(options)) {
      expect(page).toContain(value === true ? `--no-${option}` : `--${option}`);
    }
  }
});
