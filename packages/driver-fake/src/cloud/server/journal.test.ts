import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { order, useServers } from '../../../test/servers.js';

const { startServer } = useServers();

describe('the journal', () => {
  it('does not grow with deleted instances', async () => {
    const { dir, server, cloud } = await startServer();
    const { id: kept } = cloud.create(order);
    const oneMib = 1024 * 1024;

    for (let times = 0; times < 30_000; times++) cloud.remove(cloud.create(order).id);
    await server.stop();

    const { size } = statSync(join(dir, 'cloud.journal'));
    expect(size).toBeLessThan(5 * oneMib);
    const next = await startServer(dir);
    expect([...next.cloud.list()].map(({ id }) => id)).toEqual([kept]);
  });

  it('is readable only for its user', async () => {
    const { dir } = await startServer();

    expect(statSync(join(dir, 'cloud.journal')).mode & 0o077).toBe(0);
  });

  it('ignores an incomplete last line', async () => {
    const { dir, server, cloud } = await startServer();
    const { id } = cloud.create(order);
    await server.stop();
    appendFileSync(join(dir, 'cloud.journal'), '["i-');

    const next = await startServer(dir);

    expect([...next.cloud.list()].map((instance) => instance.id)).toEqual([id]);
  });
});
