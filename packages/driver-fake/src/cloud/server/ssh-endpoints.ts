import { rmSync } from 'node:fs';
import { createServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { Connection, ParsedKey } from 'ssh2';
import { makeDirectorySync } from '@nodepool/zk-protocol';
import type { Endpoints } from '../model/options.js';
import type { SshSettings } from '../model/settings.js';
import type { CloudInstance } from '../model/types.js';
import { keyPairAt, parsePublicKeys, type KeyPair } from './keys.js';
import { serveConnection } from './ssh-session.js';

interface Endpoint {
  readonly tcp: TcpServer;
  readonly connections: Set<Connection>;
}

/**
 * SSH servers on loopback, one for each instance, all in this process. Who may log in runs commands as the user of this
 * process, in a directory of the instance: nothing is separated. Only holders of a key may: the cloud's own, `id_ed25519`
 * in its directory, and those the settings name.
 */
export class SshEndpoints implements Endpoints {
  readonly #dir: string;
  readonly #endpoints = new Map<string, Endpoint>();
  #shared: KeyPair | undefined;
  #login: ParsedKey[] | undefined;

  /** @param dir - the cloud's directory: keys and the instances' directories are kept there */
  constructor(dir: string) {
    this.#dir = dir;
  }

  async open(
    instance: CloudInstance,
    settings: SshSettings,
  ): Promise<Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>> {
    const home = join(this.#dir, 'instances', instance.id);
    makeDirectorySync(home, 0o700);
    const key =
      settings.hostKeys === 'shared'
        ? (this.#shared ??= keyPairAt(join(this.#dir, 'host_key')))
        : keyPairAt(join(home, '.host_key'));
    this.#login ??= parsePublicKeys([keyPairAt(join(this.#dir, 'id_ed25519')).public]);
    const allowed = [...this.#login, ...parsePublicKeys(settings.authorizedKeys)];
    const connections = new Set<Connection>();
    const ssh = new ssh2.Server({ hostKeys: [key.private] }, (connection) => {
      connections.add(connection);
      connection.on('close', () => connections.delete(connection));
      serveConnection(connection, { allowed, home, hostname: instance.name });
    });
    const tcp = createServer((socket) => ssh.injectSocket(socket));
    this.#endpoints.set(instance.id, { tcp, connections });
    const port = await listen(tcp, settings.address, instance.port ?? 0);
    return { address: settings.address, port, hostKeys: [key.public] };
  }

  remove(id: string): void {
    this.#end(id);
    rmSync(join(this.#dir, 'instances', id), { recursive: true, force: true });
  }

  close(): void {
    for (const id of [...this.#endpoints.keys()]) this.#end(id);
  }

  #end(id: string): void {
    const endpoint = this.#endpoints.get(id);
    this.#endpoints.delete(id);
    endpoint?.tcp.close();
    for (const connection of endpoint?.connections ?? []) connection.end();
  }
}

function listen(server: TcpServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}
