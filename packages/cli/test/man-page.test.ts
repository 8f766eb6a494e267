import { expect, it } from 'vitest';
import { COMMANDS } from '../src/commands/index.js';
import { manPage } from '../src/help/man-page.js';

it('the man page has every command and every option', () => {
  const page = manPage(COMMANDS).replaceAll('\\-', '-');

  for (const { name, options = {} } of COMMANDS) {
    expect(page).toContain(`nodepool ${name}`);
    for (const [option, { default: value }] of Object.entries(options)) {
      expect(page).toContain(value === true ? `--no-${option}` : `--${option}`);
    }
  }
});
