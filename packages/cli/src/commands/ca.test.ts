import { execFile } from 'node:child_process';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const create = (file: string) => get().call('ca', 'create', file);

describe('nodepool ca create', () => {
  it('makes a key for launchers, prints the public key alone, and says what launchers and machines need', async () => {
    const file = get().file('lease_ca');

    const { status, stdout, stderr } = await create(file);

    expect([status, stdout]).toEqual([0, await readFile(`${file}.pub`, 'utf8')]);
    expect(stdout).toMatch(/^ssh-ed25519 \S+ nodepool-leases\n$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(stderr).toContain(`  lease-ca-key: ${file}\n`);
    expect(stderr).toContain('  TrustedUserCAKeys /etc/ssh/lease_ca.pub\n');
    expect(stderr).toContain(`With "host" it opens one; nodepool init USER@HOST... --lease-ca ${file} shows the lines`);
    await promisify(execFile)('ssh-keygen', ['-y', '-P', '', '-f', file]);
  });

  it('overwrites nothing, be it only a public key or a link', async () => {
    const file = get().file('other');
    await writeFile(`${file}.pub`, 'trusted');
    expect(await create(file)).toMatchObject({ status: 1, stderr: expect.stringContaining('.pub exists') as string });
    expect(await readFile(`${file}.pub`, 'utf8')).toBe('trusted');

    const link = get().file('link');
    await symlink('/nonexistent', link);
    expect(await create(link)).toMatchObject({ status: 1, stderr: expect.stringContaining('link exists') as string });
  });

  it('says why the file cannot be made', async () => {
    const { status, stderr } = await create(get().file('no/such/directory'));
    expect(status).toBe(1);
    expect(stderr).toMatch(/Cannot make \S+ with ssh-keygen: .*No such file/);
  });
});
