import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '@nodepool/test-servers';

/** An image that every kubelet of the tests has. */
export const TINY_IMAGE = 'docker.io/library/tiny:1';
const COMMANDS = ['sh', 'sleep', 'cat', 'echo', 'uname'];

/** Writes an archive of {@link TINY_IMAGE}, as `docker save` does. @param folder - for the parts of it */
export async function writeTinyImage(folder: string, archive: string): Promise<void> {
  const bin = join(folder, 'layer/bin');
  await mkdir(bin, { recursive: true });
  for (const empty of ['proc', 'sys', 'dev', 'etc', 'tmp']) await mkdir(join(folder, 'layer', empty));
  await cp('/bin/busybox', join(bin, 'busybox'));
  for (const command of COMMANDS) await symlink('busybox', join(bin, command));
  await run('tar', ['-C', join(folder, 'layer'), '-cf', join(folder, 'layer.tar'), '.']);
  const digest = createHash('sha256')
    .update(await readFile(join(folder, 'layer.tar')))
    .digest('hex');
  const config = {
    ...{ architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', os: 'linux' },
    config: { Entrypoint: ['/bin/sleep', '2147483647'], Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    history: [{ created: '2020-01-01T00:00:00Z' }],
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [TINY_IMAGE], Layers: ['layer.tar'] }];
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await run('tar', ['-C', folder, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar']);
}

/** Configuration of containerd, with all its files in a folder. */
export function containerdConfig(folder: string): string {
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${TINY_IMAGE}"
  stream_server_address = "127.0.0.1"
  # root of a container or small machine may not lower it
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${folder}/bin"
    conf_dir = "${folder}/network"
`;
}

/** Configuration of the kubelet. @param keys - folder with `tls/server.pem` and its key */
export function kubeletConfig(authority: string, keys: string, [port = 0, health = 0]: readonly number[]): string {
  return JSON.stringify({
    ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
    ...{ address: '127.0.0.1', port, healthzPort: health, healthzBindAddress: '127.0.0.1', readOnlyPort: 0 },
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: authority } },
    authorization: { mode: 'AlwaysAllow' },
    ...{ tlsCertFile: join(keys, 'tls/server.pem'), tlsPrivateKeyFile: join(keys, 'tls/server.key') },
    // the machine is not only its own
    ...{ cgroupDriver: 'cgroupfs', cgroupsPerQOS: false, enforceNodeAllocatable: [], failSwapOn: false },
    ...{ evictionHard: { 'memory.available': '1Mi' }, makeIPTablesUtilChains: false },
  });
}

/** Network of pods. */
export const NETWORK = { cniVersion: '0.3.1', name: 'address', plugins: [{ type: 'address' }] };

/**
 * A network plugin (CNI) that gives an address inside of the network namespace of a pod, and changes nothing outside. Under the name
 * `loopback` it does what containerd asks of the plugin of that name.
 */
export const ADDRESS_PLUGIN = `#!/bin/sh -e
inside() { nsenter --net="$CNI_NETNS" ip "$@" >&2; }
case $CNI_COMMAND:$CNI_IFNAME in
  VERSION:*) echo '{"cniVersion":"0.3.1","supportedVersions":["0.3.1"]}' ;;
  ADD:lo)
    inside link set lo up
    echo '{"cniVersion":"0.3.1","interfaces":[],"ips":[]}' ;;
  ADD:*)
    inside link add "$CNI_IFNAME" type veth peer name peer0
    inside address add 10.244.0.2/24 dev "$CNI_IFNAME"
    inside link set "$CNI_IFNAME" up
    echo '{"cniVersion":"0.3.1","interfaces":[{"name":"'$CNI_IFNAME'","sandbox":"'$CNI_NETNS'"}],' \\
      '"ips":[{"version":"4","interface":0,"address":"10.244.0.2/24"}]}' ;;
esac
`;
