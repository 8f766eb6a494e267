import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import stock from 'node-zookeeper-client';
import ConnectionManager from 'node-zookeeper-client/lib/ConnectionManager.js';
import { describe, expect, it } from 'vitest';

/** The parts of node-zookeeper-client the transport relies on. They are internals, hence the exact pin and this file. */
describe('node-zookeeper-client', () => {
  it('is the version the transport was written for', () => {
    const file = createRequire(import.meta.url).resolve('node-zookeeper-client/package.json');

    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: '1.1.3' });
  });

  it('lets a client use another connection manager that is put in before connect', () => {
    const client = stock.createClient('unused:2181');
    const calls: string[] = [];
    class Own extends ConnectionManager {
      override connect(): void {
        calls.push('connect');
      }
      override close(): void {
        calls.push('close');
      }
      override addAuthInfo(scheme: string): void {
        calls.push(scheme);
      }
    }
    client.connectionManager = new Own('unused:2181', { sessionTimeout: 1000, spinDelay: 0 }, () => {});

    client.addAuthInfo('digest', Buffer.from('user:secret'));
    client.connect();
    client.close();

    expect(calls).toEqual(['digest', 'connect', 'close']);
  });

  it('turns the states of the connection manager into those of the client', () => {
    const { STATES } = ConnectionManager;
    const client = stock.createClient('unused:2181');
    const seen: string[] = [];
    client.on('state', (state: { name: string }) => seen.push(state.name));
    const manager = new ConnectionManager('unused:2181', { sessionTimeout: 1000, spinDelay: 0 }, (state) =>
      client.onConnectionManagerState(state),
    );

    for (const state of [
      STATES.CONNECTING,
      STATES.CONNECTED,
      STATES.DISCONNECTED,
      STATES.CONNECTING,
      STATES.SESSION_EXPIRED,
      STATES.CONNECTING,
      STATES.CONNECTED,
      STATES.CLOSING,
      STATES.CLOSED,
    ]) {
      manager.setState(state);
    }

    expect(seen).toEqual(['SYNC_CONNECTED', 'DISCONNECTED', 'EXPIRED', 'SYNC_CONNECTED']);
  });

  it('keeps session id, password and credentials where we expect them', () => {
    const manager = new ConnectionManager('unused:2181', { sessionTimeout: 1000, spinDelay: 0 }, () => {});

    manager.addAuthInfo('digest', Buffer.from('user:secret'));

    expect(manager.sessionId).toEqual(Buffer.alloc(8));
    expect(manager.sessionPassword).toEqual(Buffer.alloc(16));
    expect(manager.sessionTimeout).toBe(1000);
    expect(manager.credentials).toEqual([{ scheme: 'digest', auth: Buffer.from('user:secret') }]);
  });

  it('opens its access to everyone by default', () => {
    expect(stock.ACL.OPEN_ACL_UNSAFE).toMatchObject([{ permission: 31, id: { scheme: 'world', id: 'anyone' } }]);
  });
});
