import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSshd } from '@nodepool/test-servers';
import type { SshdHandle } from '@nodepool/test-servers';
import { scanHostKeys } from '../../src/cloud/key-scan/index.js';

describe('scanHostKeys on OpenSSH', () => {
  let sshd: SshdHandle;
  beforeAll(async () => {
    sshd = await startSshd({ count: 2, options: ['MaxStartups 2:50:3'] });
  });
  afterAll(() => sshd.stop());

  const scan = (host: { address: string; port: number }, timeoutMs = 20_000) =>
    scanHostKeys({ host: host.address, port: host.port, connectionType: 'ssh', timeoutMs });

  it('finds the same keys as ssh-keyscan', async () => {
    const found = await Promise.all(sshd.hosts.map((host) => scan(host)));

    expect(found.map((keys) => [...keys].sort())).toEqual(sshd.hosts.map(({ hostKeys }) => [...hostKeys].sort()));
  });

  it('succeeds with a server that drops most connections', async () => {
    const [host] = sshd.hosts;
    if (host === undefined) throw new Error('no host');

    const found = await Promise.all(Array.from({ length: 6 }, () => scan(host, 60_000)));

    for (const keys of found) expect([...keys].sort()).toEqual([...host.hostKeys].sort());
  });

  it('waits for a server that restarts with new keys', async () => {
    const host = sshd.hosts[1];
    if (host === undefined) throw new Error('no host');
    await host.stop();

    const scanning = scan(host);
    await host.replaceKeys();

    expect([...(await scanning)].sort()).toEqual([...host.hostKeys].sort());
  });
});
