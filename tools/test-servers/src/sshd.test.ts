import { afterEach, expect, it } from 'vitest';
import { run } from './child-process.js';
import { accepts } from './ports.js';
import { type SshdHandle, startSshd } from './sshd.js';

let sshd: SshdHandle | undefined;

afterEach(async () => {
  await sshd?.stop();
  sshd = undefined;
});

it('starts SSH servers that have the reported host keys and accept the client key', async () => {
  sshd = await startSshd({ count: 2 });
  const [first, second] = sshd.hosts;
  if (!first || !second) throw new Error('there are not two hosts');

  const scan = await run('ssh-keyscan', ['-p', String(first.port), first.address]);
  const login = await run('ssh', [
    ...['-i', sshd.clientKeyFile, '-p', String(second.port), '-o', 'StrictHostKeyChecking=no', '-o', 'BatchMode=yes'],
    ...['-o', 'UserKnownHostsFile=/dev/null', second.address, 'echo hello'],
  ]);

  const scanned = scan.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(scanned.map((line) => line.split(' ').slice(1).join(' ')).sort()).toEqual([...first.hostKeys].sort());
  expect(first.hostKeys.map((key) => key.split(' ')[0])).toEqual(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ssh-rsa']);
  expect(second.hostKeys).not.toEqual(first.hostKeys);
  expect(login.stdout).toBe('hello\n');
});

it('stops and starts a single host and changes its keys', async () => {
  sshd = await startSshd({ count: 2, keyTypes: ['ed25519'] });
  const [first, second] = sshd.hosts;
  if (!first || !second) throw new Error('there are not two hosts');
  const keysBefore = first.hostKeys;

  await first.stop();
  const listening = await Promise.all([first, second].map(({ port, address }) => accepts(port, address)));
  await first.start();
  const keysAfterStart = first.hostKeys;
  await first.replaceKeys();

  expect(listening).toEqual([false, true]);
  expect(keysAfterStart).toEqual(keysBefore);
  expect(first.hostKeys).not.toEqual(keysBefore);
  expect(await accepts(first.port, first.address)).toBe(true);
});
