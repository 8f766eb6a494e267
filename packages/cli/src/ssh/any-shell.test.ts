import { spawnSync } from 'node:child_process';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { forAnyShell } from './any-shell.js';

const PACKAGES = ['bash', 'dash', 'zsh', 'tcsh', 'fish'];
beforeAll(() => ensureDebianPackages(PACKAGES), 300_000);

const SCRIPT = `trap : INT
printf '<%s>' "$@"; case a in a) printf "!x \\\\ \${HOME:+h}";; esac
exit 7`;

describe.each(['sh', ...PACKAGES])('the login shell %s', (shell) => {
  it.each([
    [['a', '', ' b  c ', "it's", '"', '$HOME', '`x`', '*', '~', '#', '-n']],
    [['!', '!!', '\\', '\\\\', "\\'", '\n', 'a\nb', '\t', '%s', '\\0101', 'é', '\u{1f600}']],
    [['x'.repeat(5000), '!'.repeat(5000)]],
  ])('gives a script its words as they are: %j', (words) => {
    const { status, stdout, stderr } = spawnSync(shell, ['-c', forAnyShell(['sh', '-c', SCRIPT, 'name', ...words])]);

    expect(stderr.toString()).toBe('');
    expect(stdout.toString()).toBe(`${words.map((word) => `<${word}>`).join('')}!x \\ h`);
    expect(status).toBe(7);
  });
});
