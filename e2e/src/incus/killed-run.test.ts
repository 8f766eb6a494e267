// A test run that is killed: the next one removes what it has left, and nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Lxd } from '@nodepool/incus';
import { run } from '@nodepool/test-servers';
import { expect, it } from 'vitest';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** Starts a daemon with a running container, and says where. */
const RUN = `
  import { Lxd, makeTinyImage } from '@nodepool/incus';
  const lxd = await Lxd.start();
  const image = await makeTinyImage('ssh-ed25519 AAAA');
  await lxd.importImage(image, 'tiny');
  await image.remove();
  await lxd.lxc(['launch', 'tiny', 'running']);
  console.log(JSON.stringify({ dir: lxd.dir, bridge: lxd.bridge }));
  setInterval(() => {}, 1_000);
`;

const links = async () => (await run('ip', ['-brief', 'link'])).stdout;
const processes = async () => (await run('ps', ['-eo', 'args'])).stdout;

it('leaves a daemon with a container, which the next run removes', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', RUN], {
    cwd: HERE,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { dir, bridge } = JSON.parse(line.toString()) as { dir: string; bridge: string };
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await links()).toContain(bridge);
  expect(await processes()).toContain(dir);

  const next = await Lxd.start();
  const own = await Lxd.start(); // leaves `next` alone, whose run is this one
  await own.stop();

  expect(await next.instances()).toEqual([]);
  await next.stop();
  await expect(access(dir)).rejects.toThrow('ENOENT');
  expect(await links()).not.toContain(bridge);
  expect(await processes()).not.toContain(dir);
  expect(await readFile('/proc/self/mounts', 'utf8')).not.toContain(dir);
}, 300_000);
