import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  ensureDebianPackages,
  freePorts,
  makeTlsFiles,
  run,
  ServerProcess,
  type TlsFiles,
} from '@nodepool/test-servers';
import { ApiAccess, type Body } from './api.js';

/** Options of a {@link ControlPlane}. */
export interface ControlPlaneOptions {
  /** Folder with the programs of Kubernetes. */
  readonly programs: string;
}

const READY_MS = 120_000;
const ADMIN_TOKEN = 'administrator';

/** The real etcd, kube-apiserver and kube-controller-manager on loopback. Without kubelets: pods stay `Pending`. */
export class ControlPlane {
  readonly folder: string;
  readonly server: string;
  readonly tls: TlsFiles;
  /** As an administrator. */
  readonly admin: ApiAccess;
  readonly #options: ControlPlaneOptions;
  readonly #ca: string;
  readonly #ports: { readonly api: number; readonly etcd: number; readonly peer: number };
  #processes: ServerProcess[] = [];
  #api: ServerProcess | undefined;

  private constructor(
    options: ControlPlaneOptions,
    folder: string,
    tls: TlsFiles,
    ports: readonly number[],
    ca: string,
  ) {
    const [api = 0, etcd = 0, peer = 0] = ports;
    this.#options = options;
    this.#ports = { api, etcd, peer };
    this.folder = folder;
    this.server = `https://127.0.0.1:${api}`;
    this.tls = tls;
    this.#ca = ca;
    this.admin = this.access(ADMIN_TOKEN);
  }

  /** Starts everything; resolves when service accounts are made. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    await ensureDebianPackages(['etcd-server', 'openssl']);
    const folder = await mkdtemp(join(tmpdir(), 'nodepool-kubernetes-'));
    const tls = await makeTlsFiles(join(folder, 'tls'));
    await run('openssl', ['genrsa', '-out', join(folder, 'sa.key'), '2048']);
    await run('openssl', ['rsa', '-in', join(folder, 'sa.key'), '-pubout', '-out', join(folder, 'sa.pub')]);
    await writeFile(join(folder, 'tokens.csv'), `${ADMIN_TOKEN},admin,1,"system:masters"\n`, { mode: 0o600 });
    const ports = await freePorts(3);
    const ca = await readFile(tls.ca, 'utf8');
    const plane = new ControlPlane(options, folder, tls, ports, ca);
    try {
      await plane.#startAll();
    } catch (error) {
      await plane.stop();
      throw error;
    }
    return plane;
  }

  /** Writes a kubeconfig file with this user. @returns its path */
  async kubeconfig(name: string, user: Body): Promise<string> {
    const file = join(this.folder, `${name}.kubeconfig`);
    const cluster = { server: this.server, 'certificate-authority': this.tls.ca };
    const content = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
      clusters: [{ name: 'cluster', cluster }],
      users: [{ name: 'user', user }],
      contexts: [{ name, context: { cluster: 'cluster', user: 'user' } }],
    };
    await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    return file;
  }

  /** A kubeconfig file with the token of an administrator. */
  adminKubeconfig(): Promise<string> {
    return this.kubeconfig('admin', { token: ADMIN_TOKEN });
  }

  /**
   * A service account with these rules in the whole cluster, and a kubeconfig file with a token of it.
   * @param rules - of its ClusterRole
   */
  async accountKubeconfig(name: string, rules: readonly Body[]): Promise<string> {
    const rbac = 'apis/rbac.authorization.k8s.io/v1';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules };
    const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const binding = { ...role, kind: 'ClusterRoleBinding', rules: undefined, subjects, roleRef };
    await this.admin.must('POST', 'api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
    await this.admin.must('POST', `${rbac}/clusterroles`, role);
    await this.admin.must('POST', `${rbac}/clusterrolebindings`, binding);
    return this.kubeconfig(name, { token: await this.token('default', name, 7_200) });
  }

  /** The API as the owner of a token. Close it. */
  access(token: string): ApiAccess {
    return new ApiAccess(this.server, { ca: this.#ca, token });
  }

  /** A token of a service account. */
  async token(namespace: string, account: string, seconds: number): Promise<string> {
    const body = { spec: { expirationSeconds: seconds } };
    const path = `api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    return ((await this.admin.must('POST', path, body))['status'] as { token: string }).token;
  }

  /** Kills the API server. */
  async stopApi(): Promise<void> {
    await this.#api?.kill();
  }

  /** Starts the API server, and waits until it is ready. */
  async startApi(): Promise<void> {
    const { api, etcd } = this.#ports;
    const at = (file: string) => join(this.folder, file);
    this.#api = ServerProcess.start(join(this.#options.programs, 'kube-apiserver'), [
      ...[`--etcd-servers=http://127.0.0.1:${etcd}`, `--secure-port=${api}`, '--bind-address=127.0.0.1'],
      ...['--insecure-port=0', `--cert-dir=${at('certs')}`],
      ...[`--tls-cert-file=${at('tls/server.pem')}`, `--tls-private-key-file=${at('tls/server.key')}`],
      ...[`--client-ca-file=${this.tls.ca}`, `--token-auth-file=${at('tokens.csv')}`],
      ...[`--service-account-key-file=${at('sa.pub')}`, `--service-account-signing-key-file=${at('sa.key')}`],
      ...[`--service-account-issuer=${this.server}`, '--api-audiences=api', '--authorization-mode=RBAC'],
      // how it reaches a kubelet: at `localhost`, with a client certificate
      ...[`--kubelet-certificate-authority=${this.tls.ca}`, '--kubelet-preferred-address-types=Hostname'],
      ...[`--kubelet-client-certificate=${this.tls.cert}`, `--kubelet-client-key=${this.tls.key}`],
      // the controller that would remove the taint of new nodes does not run
      ...['--service-cluster-ip-range=10.96.0.0/16', '--disable-admission-plugins=TaintNodesByCondition'],
    ]);
    await this.#until('the API server is ready', async () => {
      const answer = await this.admin.call('GET', 'readyz').catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** CPU seconds that kube-apiserver has used. */
  async apiCpuSeconds(): Promise<number> {
    const fields = (await readFile(`/proc/${this.#api?.pid ?? 0}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  async stop(): Promise<void> {
    await this.admin.close();
    await Promise.all([...this.#processes, ...(this.#api ? [this.#api] : [])].map((one) => one.kill()));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #startAll(): Promise<void> {
    const { etcd, peer } = this.#ports;
    await mkdir(join(this.folder, 'etcd'), { mode: 0o700 });
    const client = `http://127.0.0.1:${etcd}`;
    this.#processes = [
      ServerProcess.start('/usr/bin/etcd', [
        ...['--data-dir', join(this.folder, 'etcd'), '--listen-client-urls', client],
        ...['--advertise-client-urls', client, '--listen-peer-urls', `http://127.0.0.1:${peer}`, '--unsafe-no-fsync'],
      ]),
    ];
    await this.startApi();
    this.#processes.push(
      ServerProcess.start(join(this.#options.programs, 'kube-controller-manager'), [
        ...[`--kubeconfig=${await this.adminKubeconfig()}`, '--use-service-account-credentials'],
        ...[`--service-account-private-key-file=${join(this.folder, 'sa.key')}`, `--root-ca-file=${this.tls.ca}`],
        // without kubelets, nodes look lost, and their pods would be evicted
        ...['--controllers=*,-nodelifecycle,-podgc', '--leader-elect=false', '--port=0', '--secure-port=0'],
        ...['--kube-api-qps=200', '--kube-api-burst=400', '--concurrent-namespace-syncs=50'],
      ]),
    );
    await this.#until('service accounts are made', async () => {
      const { status } = await this.admin.call('GET', 'api/v1/namespaces/default/serviceaccounts/default');
      return status === 200;
    });
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = Date.now() + READY_MS;
    while (!(await isSo())) {
      const dead = [...this.#processes, ...(this.#api ? [this.#api] : [])].find(({ isRunning }) => !isRunning);
      if (dead || Date.now() > endMs) {
        const output = (dead ?? this.#api)?.output.slice(-2_000) ?? '';
        throw new Error(`${what}: not within ${READY_MS / 1_000} s: ${output}`);
      }
      await pause(100);
    }
  }
}
