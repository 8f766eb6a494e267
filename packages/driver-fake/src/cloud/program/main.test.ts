import { describe, expect, it } from 'vitest';
import { order, useServers } from '../../../test/servers.js';
import { makeTempDir } from '../../../test/temp-dir.js';
import { main } from './main.js';

const { startServer, startClient } = useServers();

/** Runs the program in this process. */
async function run(dir: string, ...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await main(['--dir', dir, ...args], {
    print: (text) => out.push(text),
    printError: (text) => err.push(text),
    onStop: () => {},
  });
  return { status, out, err: err.join('\n') };
}

describe('nodepool-fake-cloud', () => {
  it('changes settings of a running cloud', async () => {
    const { dir, cloud } = await startServer();

    expect(await run(dir, 'set', 'failures.quota', '1')).toMatchObject({ status: 0 });
    await run(dir, 'set', 'create-time', '{"uniform": [1, 2]}');
    expect(cloud.settings.times['create-time']).toMatchObject({ minMs: 1_000, maxMs: 2_000 });
    await run(dir, 'reset', 'create-time');

    expect(cloud.settingsJson).toEqual({ failures: { quota: 1 } });
    const { out } = await run(dir, 'show');
    expect(JSON.parse(out.join())).toMatchObject({ settings: { failures: { quota: 1 } }, usage: { instances: 0 } });
  });

  it('lists, leaks, breaks, hides and kills instances', async () => {
    const { dir, cloud } = await startServer();
    const { id } = cloud.create(order);

    const leaked = await run(dir, 'leak', 'nodepool_provider_name=p', 'nodepool_node_id=42');
    expect((await run(dir, 'list')).out).toHaveLength(2);
    await run(dir, 'break', id);
    expect(cloud.get(id)?.status).toBe('error');
    await run(dir, 'hide', leaked.out.join(), '60');
    await run(dir, 'kill', id);

    expect([...cloud.list()]).toEqual([]);
    expect(cloud.usage.instances).toBe(1);
  });

  it('fails for an instance that does not exist, a wrong setting and an unknown command', async () => {
    const { dir } = await startServer();

    expect(await run(dir, 'kill', 'i-none')).toMatchObject({ status: 1, err: 'there is no instance i-none' });
    expect(await run(dir, 'set', 'nonsense', '1')).toMatchObject({ status: 1 });
    expect(await run(dir, 'nonsense')).toMatchObject({ status: 2, err: expect.stringContaining('--help') as string });
  });

  it('fails if no server answers', async () => {
    const { status, err } = await run(makeTempDir(), 'show');

    expect(status).toBe(1);
    expect(err).toContain('no server of a fake cloud answers');
  });

  it('serves a directory once, until it is stopped', async () => {
    const dir = makeTempDir();
    const serving = run(dir, 'serve');
    const { client } = await startClient(dir);
    const { id } = await client.call('create', order);

    await expect.poll(() => run(dir, 'list')).toMatchObject({ status: 0, out: [expect.stringContaining(id)] });
    await run(dir, 'stop');

    expect(await serving).toMatchObject({ status: 0, out: [`serving the cloud in ${dir}, 0 instance(s)`] });
  });
});
