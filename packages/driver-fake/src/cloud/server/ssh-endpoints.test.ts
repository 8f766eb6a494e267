import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ssh2 from 'ssh2';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkPort, scanHostKeys } from '@nodepool/core/ssh';
import { systemClock, type JsonObject } from '@nodepool/zk-protocol';
import { addressOf, CloudServer, SshEndpoints } from '../../index.js';
import type { CloudInstance, InstanceOrder } from '../../index.js';
import { generateUsable, keyPairAt } from './ssh-endpoints.js';
import { makeTempDir } from '../../../test/temp-dir.js';

const order: InstanceOrder = { name: 'np1', minRam: 2048, image: 'any', az: null, metadata: {} };
const servers: CloudServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function startCloud(settings: JsonObject, dir = makeTempDir()) {
  const server = await CloudServer.start({
    ...{ dir, address: addressOf(dir), clock: systemClock, random: Math.random },
    endpoints: new SshEndpoints(dir),
  });
  servers.push(server);
  server.cloud.configure('test', settings);
  const active = async (id: string): Promise<CloudInstance & { address: string; port: number }> => {
    await vi.waitFor(() => expect(server.cloud.get(id)?.status).toBe('active'), 50_000);
    const { address, port, ...rest } = server.cloud.get(id) ?? expect.fail('it vanished');
    return { ...rest, address: address ?? '', port: port ?? 0 };
  };
  return { dir, server, cloud: server.cloud, create: () => active(server.cloud.create(order).id), active };
}

interface Outcome {
  code: number | null;
  stdout: string;
}

function execute(where: { address: string; port: number }, privateKey: string, command: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    client.on('error', reject);
    client.on('ready', () => {
      client.exec(command, (error, channel) => {
        if (error) return reject(error);
        let stdout = '';
        let code: number | null = null;
        channel.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
        channel.on('exit', (status: number | null) => (code = status));
        channel.on('close', () => {
          client.end();
          resolve({ code, stdout });
        });
      });
    });
    client.connect({ host: where.address, port: where.port, username: 'zuul', privateKey });
  });
}

const scan = ({ address, port }: { address: string; port: number }) =>
  scanHostKeys({ host: address, port, connectionType: 'ssh', timeoutMs: 10_000 });

describe('an instance with an SSH server', () => {
  it('runs commands for the key of the cloud, in its own directory', async () => {
    const { dir, create } = await startCloud({ ssh: true });
    const instance = await create();
    const key = readFileSync(join(dir, 'id_ed25519'), 'utf8');

    const outcome = await execute(instance, key, 'echo hello > file; cat file; pwd; exit 3');

    expect(outcome.code).toBe(3);
    expect(outcome.stdout.split('\n')).toEqual(['hello', expect.stringContaining(instance.id), '']);
    expect(existsSync(join(dir, 'instances', instance.id, 'file'))).toBe(true);
  });

  it('can be used with the ssh of the system', async () => {
    const { dir, create } = await startCloud({ ssh: true });
    const { address, port } = await create();
    const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR'];
    const args = ['-i', join(dir, 'id_ed25519'), '-p', String(port), ...options.flatMap((one) => ['-o', one])];

    const { stdout } = await promisify(execFile)('ssh', [...args, `zuul@${address}`, 'echo $HOSTNAME']);

    expect(stdout).toBe('np1\n');
  });

  it('rejects other keys', async () => {
    const { create } = await startCloud({ ssh: true });
    const instance = await create();
    const stranger = generateUsable().private;

    await expect(execute(instance, stranger, 'id')).rejects.toThrow('authentication');
  });

  it('accepts the keys of its settings', async () => {
    const { private: key, public: authorized } = generateUsable();
    const { create } = await startCloud({ ssh: { 'authorized-keys': [authorized] } });

    expect(await execute(await create(), key, 'true')).toMatchObject({ code: 0 });
  });

  it.each(['shared', 'per-instance'])('has the host key that the cloud reports (%s)', async (kind) => {
    const { create } = await startCloud({ ssh: { 'host-keys': kind } });
    const [one, other] = [await create(), await create()];

    const keys = [await scan(one), await scan(other)];

    expect(keys).toEqual([one.hostKeys, other.hostKeys]);
    expect(one.hostKeys?.[0] === other.hostKeys?.[0]).toBe(kind === 'shared');
  });

  it('keeps its port and key after a restart of the cloud', async () => {
    const { dir, server, create } = await startCloud({ ssh: { 'host-keys': 'per-instance' } });
    const before = await create();
    await server.stop();

    const { active } = await startCloud({ ssh: { 'host-keys': 'per-instance' } }, dir);
    const after = await active(before.id);

    expect(after.port).toBe(before.port);
    await vi.waitFor(async () => expect(await scan(after)).toEqual(before.hostKeys), 50_000);
  });

  it('ends with the instance and its files', async () => {
    const { dir, cloud, create } = await startCloud({ ssh: true });
    const { id, address, port } = await create();

    cloud.remove(id);

    expect(await checkPort({ host: address, port, timeoutMs: 300 })).toBe(false);
    expect(existsSync(join(dir, 'instances', id))).toBe(false);
  });

  it('may be unreachable', async () => {
    const { create, server } = await startCloud({ ssh: true, failures: { 'no-ssh': 1 } });

    const { address } = await create();

    expect(address).toBe('192.0.2.1');
    expect(server.cloud.usage.instances).toBe(1);
  });
});

/** Without a check about one in 256 is not usable. */
const ENOUGH = 700;

describe('key pairs', () => {
  it('can be read and used, each of them', () => {
    const dir = makeTempDir();

    const unusable = Array.from({ length: ENOUGH }, (_, index) => keyPairAt(join(dir, String(index)))).filter(
      (pair) => {
        const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
        return secret instanceof Error || open instanceof Error || open.verify('x', secret.sign('x')) !== true;
      },
    );

    expect(unusable).toEqual([]);
  });

  it('stay what they are', () => {
    const file = join(makeTempDir(), 'key');

    expect(keyPairAt(file)).toEqual(keyPairAt(file));
  });
});
