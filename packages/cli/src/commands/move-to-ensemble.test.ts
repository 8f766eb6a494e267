import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedDataDir, ensureTokenKey, tokenKeyFile } from '@nodepool/core/config';
import { connect, DATABASE_ID_PATH, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodepool } from '../../test/program.js';

const DATABASE_ID = 'c'.repeat(32);

let dir: string;
/** Plays the ensemble. */
let ensemble: EmbeddedServer;
let there: ZooKeeper;

const BUILDERS = '/nodepool/components/builder';

/** A state directory whose launcher is stopped, with some content. */
async function fill(stateDir: string, paths: readonly string[]): Promise<void> {
  const server = await startEmbeddedServer({ dataDir: embeddedDataDir(stateDir), fsync: false });
  const zk = await connect({ servers: server.connectString });
  for (const path of paths) await zk.ensurePath(path);
  if (paths.length > 0) await zk.create(DATABASE_ID_PATH, DATABASE_ID);
  if (paths.includes(BUILDERS)) await zk.create(`${BUILDERS}/b1-`, '{}', { sequential: true, ephemeral: true });
  await server.close(); // the session stays, as that of a builder that outlives the launcher
  await zk.close();
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-move-'));
  await fill(join(dir, 'state'), ['/nodepool/nodes', BUILDERS, '/zuul/system']);
  ensemble = await startEmbeddedServer({ dataDir: join(dir, 'ensemble'), fsync: false });
  there = await connect({ servers: ensemble.connectString });
  const [host, port] = ensemble.connectString.split(':');
  await writeFile(join(dir, 'nodepool.yaml'), `zookeeper-servers: [{host: ${host}, port: ${port}}]\n`);
  await writeFile(join(dir, 'none.yaml'), 'labels: []\n');
});

afterEach(async () => {
  await there.close();
  await ensemble.close();
  await rm(dir, { recursive: true });
});

const call = (config: string, state: string, ...args: string[]) =>
  nodepool('-c', join(dir, config), '--state-dir', join(dir, state), 'move-to-ensemble', ...args);

describe('nodepool move-to-ensemble', () => {
  it("copies Nodepool's znodes, and reports other znodes and registered services", async () => {
    const { status, stdout, stderr } = await call('nodepool.yaml', 'state');

    expect([status, stdout]).toEqual([0, expect.stringMatching(/^Moved \d+ znodes from .* to /)]);
    expect(stderr).toContain('Not copied, as other programs made it: /zuul');
    expect(stderr).toContain('Still registered when the server stopped: builder b1-0000000000.');
    expect((await there.getData(DATABASE_ID_PATH)).data.toString()).toBe(DATABASE_ID);
    expect(await there.exists('/zuul')).toBeUndefined();
  });

  it('names the key that has signed the tokens, unless the configuration has it', async () => {
    await fill(join(dir, 'with-token'), ['/nodepool/lease-tokens/ci']);
    const key = await ensureTokenKey(join(dir, 'with-token'));
    const told = `add the content of ${tokenKeyFile(join(dir, 'with-token'))} to the list token-keys`;

    expect((await call('nodepool.yaml', 'with-token')).stderr).toContain(told);
    await writeFile(join(dir, 'secure.yaml'), `token-keys: [${key}]\n`);
    const again = await call('nodepool.yaml', 'with-token', '-s', join(dir, 'secure.yaml'));
    expect([again.status, again.stderr]).toEqual([0, expect.not.stringContaining('token-keys')]);
  });

  it('does nothing when it is repeated, and refuses another ensemble', async () => {
    await call('nodepool.yaml', 'state');
    await writeFile(join(dir, 'other.yaml'), 'zookeeper-servers: [{host: other.example, port: 2181}]\n');

    const again = await call('nodepool.yaml', 'state');
    const other = await call('other.yaml', 'state');

    expect([again.status, again.stdout]).toEqual([
      0,
      expect.stringMatching(/^The content of .* was moved to .* already\.\n$/),
    ]);
    expect(other.status).toBe(1);
    expect(other.stderr).toMatch(
      /and the configuration names other\.example:2181.*: name the same servers, or take that move back/,
    );
  });

  it('is taken back by --undo, once', async () => {
    await call('nodepool.yaml', 'state');

    const undone = await call('nodepool.yaml', 'state', '--undo', '--yes');
    const again = await call('nodepool.yaml', 'state', '--undo', '--yes');

    expect([undone.status, undone.stdout]).toEqual([0, expect.stringContaining('is used again. The copy stays at')]);
    expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('was not moved: nothing to take back')]);
  });

  it('refuses a database that is in use', async () => {
    const server = await startEmbeddedServer({ dataDir: embeddedDataDir(join(dir, 'state')), fsync: false });

    const { status, stderr } = await call('nodepool.yaml', 'state').finally(() => server.close());

    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('is in use: stop the launcher, and the builder, first.'),
    ]);
    expect(await there.exists(DATABASE_ID_PATH)).toBeUndefined();
  });

  it.each([
    [
      'without zookeeper-servers',
      'none.yaml',
      'state',
      /none\.yaml names no zookeeper-servers: list the servers of the ensemble there/,
    ],
    [
      'without an embedded database',
      'nodepool.yaml',
      'empty',
      /no embedded server has left its data in .*: name the launcher's --state-dir/,
    ],
    ['of a database without content', 'nodepool.yaml', 'bare', /holds no data of Nodepool: name another --state-dir/],
  ])('is refused %s', async (_what, config, state, message) => {
    await mkdir(join(dir, 'empty'));
    await fill(join(dir, 'bare'), []);

    const { status, stderr } = await call(config, state);

    expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
