import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import stock from 'node-zookeeper-client';
import { describe, expect, it } from 'vitest';

/** The parts of node-zookeeper-client that the client relies on. */
describe('node-zookeeper-client', () => {
  it('is the version the client was written for', () => {
    const file = createRequire(import.meta.url).resolve('node-zookeeper-client/package.json');

    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: '1.1.3' });
  });

  it('opens its access to everyone by default', () => {
    expect(stock.ACL.OPEN_ACL_UNSAFE).toMatchObject([{ permission: 31, id: { scheme: 'world', id: 'anyone' } }]);
  });
});
