import { access, chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureDebianPackages, run } from '@nodepool/test-servers';

/** Packages that the image is made of. */
const PACKAGES = ['busybox-static', 'dropbear-bin', 'tar'];
const APPLETS = [
  'sh',
  'init',
  'mount',
  'ip',
  'ifconfig',
  'udhcpc',
  'cat',
  'hostname',
  'mkdir',
  'grep',
  'ls',
  'id',
  'sleep',
  'uname',
  'env',
];
const DIRS = [
  'bin',
  'sbin',
  'etc/dropbear',
  'etc/ssh',
  'proc',
  'sys',
  'dev',
  'run',
  'tmp',
  'var/log',
  'root/.ssh',
  'usr/bin',
  'usr/sbin',
];
const BUSYBOX = '/bin/busybox';
const PROGRAMS = ['/usr/sbin/dropbear', '/usr/bin/dropbearkey'];

const INITTAB =
  '::sysinit:/sbin/boot\n::respawn:/usr/sbin/dropbear -F -E -s -r /etc/dropbear/ed25519 -r /etc/dropbear/rsa\n';
/**
 * Makes the host keys at the first boot, where sshd has them as well, and gets an address. The RSA key is there because dropbear
 * offers this type without a key as well; it is short, as no client takes it before the other.
 */
const BOOT = `#!/bin/sh
ifconfig lo 127.0.0.1 up
ip link set eth0 up
[ -f /etc/dropbear/ed25519 ] || dropbearkey -t ed25519 -f /etc/dropbear/ed25519 >/dev/null
[ -f /etc/dropbear/rsa ] || dropbearkey -t rsa -s 1024 -f /etc/dropbear/rsa >/dev/null
for type in ed25519 rsa; do
  dropbearkey -y -f /etc/dropbear/$type | grep ^ssh- >/etc/ssh/ssh_host_\${type}_key.pub
done
udhcpc -i eth0 -b -q -s /sbin/lease -t 30 -T 1
`;
const LEASE = `#!/bin/sh
[ "$1" = bound ] || [ "$1" = renew ] && ifconfig eth0 "$ip" netmask "$subnet" up
exit 0
`;

/** The two archives of an image. */
export interface TinyImage {
  readonly rootfs: string;
  readonly metadata: string;
  /** Removes both. */
  remove(): Promise<void>;
}

/** Makes the smallest system with DHCP and an SSH server, and installs what it is made of. @param publicKey - of root */
export async function makeTinyImage(publicKey: string): Promise<TinyImage> {
  await ensureDebianPackages(PACKAGES);
  return packTinyImage(publicKey, tmpdir());
}

/** Programs that {@link packTinyImage} takes from this machine, but does not find. */
export async function missingPrograms(): Promise<string[]> {
  const files = [BUSYBOX, ...PROGRAMS];
  const found = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  const missing = files.filter((_, i) => !found[i]);
  if (missing.includes(BUSYBOX) || (await librariesOf(BUSYBOX)).length === 0) return missing;
  return [...missing, `${BUSYBOX} without shared libraries`];
}

/** Packs a static busybox and dropbear as an image, in a directory of its own below `parent`. @param publicKey - of root */
export async function packTinyImage(publicKey: string, parent: string): Promise<TinyImage> {
  const dir = await mkdtemp(join(parent, 'np-image-'));
  await fillRoot(join(dir, 'root'), publicKey);
  const createdS = Math.floor(Date.now() / 1_000);
  const properties = { description: 'busybox and dropbear' };
  const metadata = {
    architecture: process.arch === 'arm64' ? 'aarch64' : 'x86_64',
    creation_date: createdS,
    properties,
  };
  await writeFile(join(dir, 'metadata.yaml'), JSON.stringify(metadata));
  await run('tar', ['-C', dir, '-cf', join(dir, 'metadata.tar'), 'metadata.yaml']);
  await run('tar', ['-C', join(dir, 'root'), '--owner=0', '--group=0', '-cf', join(dir, 'rootfs.tar'), '.']);
  return {
    rootfs: join(dir, 'rootfs.tar'),
    metadata: join(dir, 'metadata.tar'),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

async function fillRoot(root: string, publicKey: string): Promise<void> {
  for (const name of DIRS) await mkdir(join(root, name), { recursive: true });
  await copyFile(BUSYBOX, join(root, 'bin/busybox'));
  for (const applet of APPLETS) await symlink('/bin/busybox', join(root, applet === 'init' ? 'sbin' : 'bin', applet));
  for (const program of PROGRAMS) await copyProgram(root, program);
  const files: Record<string, string> = {
    'etc/inittab': INITTAB,
    'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n',
    'etc/group': 'root:x:0:\n',
    'etc/shadow': 'root:*:19000:0:99999:7:::\n',
    'root/.ssh/authorized_keys': `${publicKey.trim()}\n`,
    'sbin/boot': BOOT,
    'sbin/lease': LEASE,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  for (const name of ['sbin/boot', 'sbin/lease']) await chmod(join(root, name), 0o755);
  for (const name of ['root', 'root/.ssh']) await chmod(join(root, name), 0o700);
  await chmod(join(root, 'root/.ssh/authorized_keys'), 0o600);
}

/** Copies a program with its shared libraries. */
async function copyProgram(root: string, program: string): Promise<void> {
  for (const path of [program, ...(await librariesOf(program))]) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await copyFile(path, join(root, path));
  }
}

/** Shared libraries of a program; a static one has none, and `ldd` fails for it. */
async function librariesOf(program: string): Promise<string[]> {
  const stdout = await run('ldd', [program]).then(
    (result) => result.stdout,
    () => '',
  );
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}
