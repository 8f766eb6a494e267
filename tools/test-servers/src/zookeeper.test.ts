import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { startZooKeeper, type ZooKeeperHandle } from './zookeeper.js';

let zookeeper: ZooKeeperHandle | undefined;

afterEach(async () => {
  await zookeeper?.stop();
  zookeeper = undefined;
});

/**
 * Sends a four-letter word over TLS with that certificate.
 * @returns the reply; empty if the server refuses, with an alert, a reset or a close
 */
function askOverTls(port: number, ca: string, cert: string, key: string): Promise<string> {
  return new Promise((resolve) => {
    const [caText, certText, keyText] = [ca, cert, key].map((path) => readFileSync(path, 'utf8'));
    const socket = connect({ host: '127.0.0.1', port, ca: caText, cert: certText, key: keyText });
    let answer = '';
    socket.once('secureConnect', () => socket.write('ruok'));
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => resolve(answer));
  });
}

describe('startZooKeeper', () => {
  it('starts one server that can be killed, started again, paused and resumed', async () => {
    zookeeper = await startZooKeeper();
    const firstPid = zookeeper.servers[0]?.pid;

    await zookeeper.kill();
    const whileDead = await zookeeper.fourLetter('ruok');
    await zookeeper.restart();
    zookeeper.pause();
    zookeeper.resume();

    expect(whileDead).toBe('');
    expect(await zookeeper.fourLetter('ruok')).toBe('imok');
    expect(zookeeper.servers[0]?.pid).not.toBe(firstPid);
    expect(await zookeeper.leader()).toBe(0);
  });

  it('limits session timeouts to the configured range', async () => {
    zookeeper = await startZooKeeper({ tickMs: 100, minSessionTimeoutMs: 300, maxSessionTimeoutMs: 4000 });

    const conf = await zookeeper.fourLetter('conf');

    expect(conf).toContain('minSessionTimeout=300');
    expect(conf).toContain('maxSessionTimeout=4000');
  });

  it('requires a client certificate of its own CA over TLS', async () => {
    zookeeper = await startZooKeeper({ tls: true });
    const { tlsFiles, servers } = zookeeper;
    const port = servers[0]?.port ?? 0;
    if (!tlsFiles) throw new Error('there are no TLS files');
    const { ca, cert, key, otherCert, otherKey } = tlsFiles;

    const accepted = await askOverTls(port, ca, cert, key);
    const refused = await askOverTls(port, ca, otherCert, otherKey);

    expect(accepted).toBe('imok');
    expect(refused).toBe('');
    expect(await zookeeper.fourLetter('ruok')).toBe('imok');
  });

  it('starts three servers that elect another leader when the leader is killed', async () => {
    zookeeper = await startZooKeeper({ ensemble: true });
    const first = await zookeeper.leader();

    await zookeeper.kill(first);
    const second = await zookeeper.leader();
    await zookeeper.restart(first);

    expect(zookeeper.connectString.split(',')).toHaveLength(3);
    expect(second).not.toBe(first);
    expect(await zookeeper.fourLetter('srvr', first)).toContain('Mode: follower');
  });
});
