// `npm start -- --incus` with a real LXD.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Lxd } from '@nodepool/incus';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../quickstart/dist/main.js', import.meta.url));

let lxd: Lxd;
let dir: string;

beforeAll(async () => {
  await ensureDebianPackages(['busybox-static', 'dropbear-bin']);
  lxd = await Lxd.start();
  dir = await mkdtemp(join(tmpdir(), 'np-quick-'));
}, 300_000);
afterAll(async () => {
  await lxd.stop();
  await rm(dir, { recursive: true });
}, 120_000);

/** Runs the quick start to its end. */
function start(): Promise<{ status: number; output: string }> {
  const { INCUS_DIR: _, INCUS_SOCKET: _1, LXD_SOCKET: _2, ...env } = process.env;
  const args = [MAIN, '--once', '--incus', '--state-dir', join(dir, 'state')];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...env, LXD_DIR: lxd.dir } }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

it('lends containers in place of machines of the simulated cloud, and leaves nothing', async () => {
  const { status, output } = await start();

  console.log(output);
  expect(status, output).toBe(0);
  expect(output.match(/job [2-4]: logged in to root@10\.\S+, host key verified: hello from root/g)).toHaveLength(3);
  expect(output.match(/cloud: machine \d+ is deleted/g)).toHaveLength(2);
  expect(output).toContain('the cloud is empty again');
  expect(await lxd.lxc(['project', 'list', '--format=csv'])).toMatch(/^default \(current\),[^\n]*\n$/);
  expect([...(await lxd.instances()), ...(await lxd.images()), ...(await lxd.volumes())]).toEqual([]);
}, 300_000);

it('says what is missing in the default profile, and changes nothing', async () => {
  await lxd.lxc(['profile', 'device', 'remove', 'default', 'eth0']);

  const { status, output } = await start();

  expect(status).toBe(1);
  expect(output).toMatch(/the default profile of lxd 5\.\S+ has no network: "lxd init --auto" makes/);
  expect((await lxd.lxc(['project', 'list', '--format=csv'])).trim().split('\n')).toHaveLength(1);
}, 60_000);
