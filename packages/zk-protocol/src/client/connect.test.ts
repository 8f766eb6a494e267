import { expect, it } from 'vitest';
import { recordingLogger } from '../../test/support/clients.js';
import { systemClock } from '../base/clock.js';
import { connectInMemory } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { connect, createZooKeeper } from './connect.js';
import { ZooKeeperError } from './contract/errors.js';

it('closes the client when it is aborted', async () => {
  const abort = new AbortController();
  const connecting = connect({ servers: '127.0.0.1:1' }, abort.signal);

  abort.abort(new Error('enough'));

  await expect(connecting).rejects.toThrow('enough');
});

it.each([
  [{ sessionTimeoutMs: 0 }, 'ZooKeeper option sessionTimeoutMs is 0: expected a positive integer'],
  [{ maxBacklog: 1.5 }, 'ZooKeeper option maxBacklog is 1.5: expected a positive integer'],
  [{ maxRequestBytes: -1 }, 'ZooKeeper option maxRequestBytes is -1: expected a positive integer'],
  [{ tls: { cert: '/no/cert.pem', key: '', ca: '' } }, 'ZooKeeper TLS: cannot read the cert file /no/cert.pem'],
])('rejects %j', (options, message) => {
  expect(() => createZooKeeper({ servers: '127.0.0.1:1', ...options })).toThrow(
    new ZooKeeperError('ZK_BAD_ARGUMENTS', message),
  );
});

it('continues after a state listener threw, and logs its error', async () => {
  const { lines, logger } = recordingLogger();
  const { zk } = connectInMemory(new MemoryServer(systemClock), { logger });
  const states: string[] = [];
  zk.onState(() => {
    throw new Error('broken listener');
  });
  zk.onState((state) => states.push(state));

  await zk.whenConnected();
  await zk.close();

  expect(states).toEqual(['CONNECTED', 'CLOSED']);
  expect(lines).toContain('error ZooKeeper state listener failed: broken listener');
});
