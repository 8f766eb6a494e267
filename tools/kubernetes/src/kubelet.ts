import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureDebianPackages, freePorts, run, ServerProcess } from '@nodepool/test-servers';
import type { ControlPlane } from './control-plane.js';
import { ADDRESS_PLUGIN, containerdConfig, kubeletConfig, NETWORK, writeTinyImage } from './kubelet-files.js';

const PACKAGES = ['containerd', 'runc', 'busybox-static', 'conntrack', 'iptables'];
const READY_MS = 120_000;

/**
 * The real kubelet and kube-scheduler with containerd and runc: pods run. They have an address and no network, so that nothing of this
 * machine's network changes; `kubectl exec` needs none. Images are not pulled: `TINY_IMAGE` is there, with a busybox in it.
 */
export class Kubelet {
  readonly #folder: string;
  #processes: ServerProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Starts everything as root; resolves when the node is ready. @param programs - folder of the built programs */
  static async start(plane: ControlPlane, programs: string): Promise<Kubelet> {
    await ensureDebianPackages(PACKAGES);
    const kubelet = new Kubelet(await mkdtemp(join(tmpdir(), 'nodepool-kubelet-')));
    try {
      await kubelet.#startAll(plane, programs);
    } catch (error) {
      await kubelet.stop();
      throw error;
    }
    return kubelet;
  }

  /** Output of all programs, to explain a failure. */
  get output(): string {
    return this.#processes.map(({ output }) => output.slice(-5_000)).join('\n---\n');
  }

  /** Ends all programs, and the containers that are left. */
  async stop(): Promise<void> {
    const [containerd, ...others] = this.#processes;
    await Promise.all(others.map((one) => one.kill()));
    if (containerd?.isRunning) await this.#endContainers();
    await containerd?.kill();
    await this.#endShims();
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
    for (const mount of mounts.filter((one) => one.startsWith(`${this.#folder}/`)).reverse()) {
      await run('umount', ['--lazy', mount]);
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #startAll(plane: ControlPlane, programs: string): Promise<void> {
    const at = (file: string) => join(this.#folder, file);
    const ports = await freePorts(2);
    await this.#writeFiles(plane, ports);
    this.#processes.push(ServerProcess.start('containerd', ['--config', at('containerd.toml')]));
    await this.#until('containerd answers', () =>
      this.#ctr('version').then(
        () => true,
        () => false,
      ),
    );
    await this.#ctr('images', 'import', at('tiny.tar'));
    const kubeconfig = await plane.adminKubeconfig();
    this.#processes.push(
      ServerProcess.start(join(programs, 'kubelet'), [
        ...[`--kubeconfig=${kubeconfig}`, `--config=${at('kubelet.yaml')}`, `--root-dir=${at('kubelet')}`],
        ...['--container-runtime=remote', `--container-runtime-endpoint=unix://${at('containerd.sock')}`],
        // a node named like this has an address on loopback for the API server
        ...['--hostname-override=localhost', `--cert-dir=${at('certs')}`],
      ]),
      ServerProcess.start(join(programs, 'kube-scheduler'), [
        ...[`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--port=0', '--secure-port=0'],
      ]),
    );
    await this.#until('the node is ready', async () => {
      const { body } = await plane.admin.call('GET', 'api/v1/nodes/localhost');
      const { conditions = [] } = (body['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    });
  }

  async #writeFiles(plane: ControlPlane, ports: readonly number[]): Promise<void> {
    const at = (file: string) => join(this.#folder, file);
    await Promise.all(['bin', 'network'].map((name) => mkdir(at(name))));
    await writeFile(at('containerd.toml'), containerdConfig(this.#folder));
    await writeFile(at('kubelet.yaml'), kubeletConfig(plane.tls.ca, plane.folder, ports));
    await writeFile(at('network/address.conflist'), JSON.stringify(NETWORK));
    await writeFile(at('bin/address'), ADDRESS_PLUGIN);
    await chmod(at('bin/address'), 0o755);
    await symlink('address', at('bin/loopback'));
    await writeTinyImage(at('image'), at('tiny.tar'));
  }

  async #endContainers(): Promise<void> {
    const list = async () => (await this.#ctr('tasks', 'list', '--quiet')).stdout.split('\n').filter(Boolean);
    for (let ids = await list(), tries = 0; ids.length > 0 && tries < 20; ids = await list(), tries++) {
      // a process that ends at this moment cannot be deleted
      await Promise.allSettled(ids.map((id) => this.#ctr('tasks', 'delete', '--force', id)));
    }
  }

  /** Parents of containers outlive containerd if it is killed while it starts one. */
  async #endShims(): Promise<void> {
    const socket = join(this.#folder, 'containerd.sock');
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (line.includes('containerd-shim') && line.split('\0').includes(socket)) process.kill(Number(pid), 'SIGKILL');
    }
  }

  #ctr(...args: string[]) {
    return run('ctr', ['--address', join(this.#folder, 'containerd.sock'), '--namespace', 'k8s.io', ...args]);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = Date.now() + READY_MS;
    while (!(await isSo())) {
      const hasDied = this.#processes.some(({ isRunning }) => !isRunning);
      if (hasDied || Date.now() > endMs) throw new Error(`${what}: not within ${READY_MS / 1_000} s: ${this.output}`);
      await pause(200);
    }
  }
}
