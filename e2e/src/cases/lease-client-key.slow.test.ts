import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { LEASE_TOKEN } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

/** Home directory of the user on the host. */
const home = mkdtempSync(join(tmpdir(), 'nodepool-client-key-'));
const launcherKey = join(home, 'launcher');
const authorizedKeys = join(home, '.ssh', 'authorized_keys');
const temporary = join(home, 'tmp');

const get = useStatic({
  sshd: {
    ...{ count: 1, keyTypes: ['ed25519'] },
    options: ['Match all', `AuthorizedKeysFile ${authorizedKeys}`, `SetEnv HOME=${home}`],
  },
});

beforeAll(async () => {
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', launcherKey]);
  await mkdir(join(home, '.ssh'), { mode: 0o700 });
  await mkdir(temporary);
  await writeFile(authorizedKeys, await readFile(`${launcherKey}.pub`), { mode: 0o600 });
});

afterAll(() => rm(home, { recursive: true, force: true }));

it('nodepool ssh makes a key for a user who has none, and leaves nothing of it', async () => {
  const setup = simpleSetup([{ host: get().host(0), labels: ['small'] }]);
  const providers = setup.providers.map((provider) => ({ ...provider, leaseKeyFile: launcherKey }));
  const secure = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
  const launcher = await get().launch({ ...setup, providers }, { secure });
  const before = await readFile(authorizedKeys, 'utf8');
  const env = { NODEPOOL_SERVER: `http://127.0.0.1:${launcher.webPort}`, NODEPOOL_TOKEN: LEASE_TOKEN };
  const more = { TMPDIR: temporary, SSH_AUTH_SOCK: '' };
  const ssh = NodepoolProcess.start(
    ['ssh', 'small', '--', 'sh', '-c', 'echo inside; exit 3'],
    { ...env, ...more },
    home,
  );
  onTestFinished(() => ssh.kill());

  expect(await ssh.end(), ssh.stderr).toBe(3);

  expect(ssh.stdout).toBe('inside\n');
  expect(await readdir(temporary)).toEqual([]);
  await expect.poll(() => readFile(authorizedKeys, 'utf8'), { timeout: SOON_MS, interval: 100 }).toBe(before);
  await get().assertClean();
});
