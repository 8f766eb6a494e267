import { readFile } from 'node:fs/promises';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect, createZooKeeper } from '../index.js';
import { closing, eventually, recordingLogger } from '../../test/support/clients.js';

describe('TLS', () => {
  let zooKeeper: ZooKeeperHandle;
  let files: NonNullable<ZooKeeperHandle['tlsFiles']>;

  beforeAll(async () => {
    zooKeeper = await startZooKeeper({ tls: true });
    if (zooKeeper.tlsFiles === undefined) throw new Error('no TLS files');
    files = zooKeeper.tlsFiles;
  });
  afterAll(() => zooKeeper.stop());

  it('connects with a client certificate from files', async () => {
    const { cert, key, ca } = files;

    const client = closing(await connect({ servers: zooKeeper.connectString, tls: { cert, key, ca } }));

    expect(await client.exists('/zookeeper')).toBeDefined();
  });

  it('connects with PEM texts', async () => {
    const [cert, key, ca] = await Promise.all([files.cert, files.key, files.ca].map((file) => readFile(file, 'utf8')));
    if (cert === undefined || key === undefined || ca === undefined) throw new Error('unreachable');

    const client = closing(await connect({ servers: zooKeeper.connectString, tls: { cert, key, ca } }));

    expect(client.state).toBe('CONNECTED');
  });

  it('reports that the server refuses the client certificate', async () => {
    const { lines, logger } = recordingLogger();
    const tls = { cert: files.otherCert, key: files.otherKey, ca: files.ca };

    const client = closing(createZooKeeper({ servers: zooKeeper.connectString, tls, logger }));

    await eventually(() => expect(lines.join('\n')).toMatch(/certificate|alert/));
    expect(client.state).toBe('SUSPENDED');
  });

  it('does not talk to a server of another authority', async () => {
    const { lines, logger } = recordingLogger();
    const tls = { cert: files.cert, key: files.key, ca: files.otherCert };

    const client = closing(createZooKeeper({ servers: zooKeeper.connectString, tls, logger }));

    await eventually(() => expect(lines.join('\n')).toMatch(/unable to|self.signed|certificate/));
    expect(client.sessionId).toBe(0n);
  });

  it('does not talk to a server of another authority where the environment switches verification off', async () => {
    const { lines, logger } = recordingLogger();
    const tls = { cert: files.cert, key: files.key, ca: files.otherCert };
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());

    const client = closing(createZooKeeper({ servers: zooKeeper.connectString, tls, logger }));

    await eventually(() => expect(lines.join('\n')).toMatch(/unable to|self.signed|certificate/));
    expect(client.sessionId).toBe(0n);
  });

  it('refuses a server with another name unless configured', async () => {
    const { lines, logger } = recordingLogger();
    const tls = { cert: files.cert, key: files.key, ca: files.ca, servername: 'elsewhere.example' };

    closing(createZooKeeper({ servers: zooKeeper.connectString, tls, logger }));
    await eventually(() => expect(lines.join('\n')).toContain('elsewhere.example'));
    const trusting = await connect({ servers: zooKeeper.connectString, tls: { ...tls, verifyHostname: false } });

    expect(closing(trusting).state).toBe('CONNECTED');
  });

  it('names the file that cannot be read', () => {
    const tls = { cert: files.cert, key: '/nonexistent/client.key', ca: files.ca };

    expect(() => createZooKeeper({ servers: 'localhost', tls })).toThrow('key file /nonexistent/client.key');
  });
});
