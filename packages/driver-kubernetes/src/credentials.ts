import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ConfigError, ProviderUnavailableError, type Clock, type Logger } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';
import { messageOf } from './errors.js';
import { readCluster, type Cluster, type ClusterSource, type Env, type ExecConfig } from './kubeconfig.js';
import { LoginEnds, MARGIN_MS, type EndingLogin } from './login-ends.js';

const run = promisify(execFile);
const EXEC_TIMEOUT_MS = 30_000;
/** Files of tokens are replaced by others: by the kubelet, hourly. */
const TOKEN_FILE_LIFE_MS = 60_000;
const ANSWER_LIMIT_BYTES = 1_048_576;
/** A program runs at most this often, also if what it prints is refused or ends sooner than it is renewed. */
const EXEC_PAUSE_MS = 5_000;

/** A cluster with valid credentials. */
export interface Login {
  readonly cluster: Cluster;
  readonly headers: Readonly<Record<string, string>>;
  /** Bearer token; `undefined`: another way of logging in. */
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** Credentials of a provider. */
export interface Credentials {
  /** What has long been wrong with the credentials that a program prints. */
  readonly ending?: EndingLogin | undefined;
  get(): Promise<Login>;
  /** Reads files and runs programs again, after the cluster refused a login. */
  forget(): void;
}

interface Secret {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Whether it is read again. */
  readonly isOver: () => boolean;
}

/** What a program prints. */
type Printed = Omit<Secret, 'isOver'> & { readonly endsMs: number | undefined };

const always = () => true;
const never = () => false;

/** Credentials of a kubeconfig file, or of the service account of the pod. */
export function createCredentials(
  source: ClusterSource,
  clock: Pick<Clock, 'now' | 'steadyNow'>,
  logger: Pick<Logger, 'warn'>,
): Credentials {
  const ends = new LoginEnds(clock, logger);
  let cluster: Promise<Cluster> | undefined;
  let secret: Promise<Secret> | undefined;
  let isOver = always;
  let runMs = -Infinity;
  return {
    get ending() {
      return ends.found;
    },
    async get() {
      cluster ??= readCluster(source);
      try {
        const known = await cluster;
        const steadyMs = steadyNow(clock);
        const isPausing = known.user.exec !== undefined && steadyMs < runMs + EXEC_PAUSE_MS;
        if (isOver() && !isPausing) {
          isOver = never; // others wait for the same answer
          runMs = steadyMs;
          secret = secretOf(known, source.env, { clock, ends });
        }
        const answer = await secret;
        if (isOver !== always) isOver = answer?.isOver ?? always;
        return loginOf(known, answer);
      } catch (error) {
        cluster = undefined;
        isOver = always;
        throw error;
      }
    },
    forget() {
      cluster = undefined;
      isOver = always;
    },
  };
}

function loginOf(cluster: Cluster, secret: Secret | undefined): Login {
  const { username, password } = cluster.user;
  const token = secret?.token;
  const basic = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64');
  const authorization = token !== undefined ? `Bearer ${token}` : username !== undefined ? `Basic ${basic}` : undefined;
  return {
    cluster,
    token,
    headers: authorization === undefined ? {} : { authorization },
    certificate: secret?.certificate,
    key: secret?.key,
  };
}

interface Watch {
  readonly clock: Pick<Clock, 'now' | 'steadyNow'>;
  readonly ends: LoginEnds;
}

async function secretOf(cluster: Cluster, env: Env, { clock, ends }: Watch): Promise<Secret> {
  const { token, tokenFile, certificate, key, exec } = cluster.user;
  if (exec) {
    const { endsMs, ...secret } = await runExec(exec, cluster, env);
    ends.note(exec.command, endsMs);
    return { ...secret, isOver: () => clock.now() >= (endsMs ?? Infinity) - MARGIN_MS };
  }
  ends.note('', undefined);
  // As in Kubernetes' own client, the file wins over the token.
  if (tokenFile !== undefined) {
    const text = await readFile(tokenFile, 'utf8').catch((error: unknown) => {
      throw new ConfigError(`the token file of context "${cluster.context}" cannot be read: ${messageOf(error)}`);
    });
    const untilMs = steadyNow(clock) + TOKEN_FILE_LIFE_MS;
    return { token: text.trim(), certificate, key, isOver: () => steadyNow(clock) >= untilMs };
  }
  return { token, certificate, key, isOver: never };
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
async function runExec(exec: ExecConfig, cluster: Cluster, env: Env): Promise<Printed> {
  const what = `credentials of context "${cluster.context}": program "${exec.command}"`;
  const info = {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec.provideClusterInfo && { cluster: infoOf(cluster) }) },
  };
  let text: string;
  try {
    const answer = await run(exec.command, [...exec.args], {
      env: { ...env, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: EXEC_TIMEOUT_MS,
      maxBuffer: ANSWER_LIMIT_BYTES,
    });
    text = answer.stdout;
  } catch (error) {
    throw new ProviderUnavailableError(`${what} failed: ${failureOf(error, exec)}`);
  }
  return secretIn(text, what);
}

/** What a program says on its error output; not its output, which may hold credentials. */
function failureOf(error: unknown, { installHint }: ExecConfig): string {
  const { code, stderr = '', killed } = error as { code?: string | number; stderr?: string; killed?: boolean };
  if (code === 'ENOENT') return `it is not installed. ${installHint ?? ''}`.trim();
  if (killed === true) return `it did not end within ${EXEC_TIMEOUT_MS / 1_000} s`;
  return `exit status ${code ?? 'unknown'}: ${stderr.trim().slice(0, 500)}`;
}

function secretIn(text: string, what: string): Printed {
  let status: Readonly<Record<string, unknown>>;
  try {
    ({ status = {} } = JSON.parse(text) as { status?: Readonly<Record<string, unknown>> });
  } catch {
    throw new ProviderUnavailableError(`${what} printed no JSON`);
  }
  const part = (key: string) => (typeof status[key] === 'string' ? status[key] : undefined);
  const token = part('token');
  const certificate = part('clientCertificateData');
  if (token === undefined && certificate === undefined) {
    throw new ProviderUnavailableError(`${what} printed neither a token nor a client certificate`);
  }
  const ends = Date.parse(part('expirationTimestamp') ?? '');
  return {
    token,
    certificate,
    key: part('clientKeyData'),
    endsMs: Number.isNaN(ends) ? undefined : ends,
  };
}

function infoOf({ server, ca, skipTls, tlsServerName }: Cluster): Readonly<Record<string, unknown>> {
  return {
    server,
    'insecure-skip-tls-verify': skipTls,
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    ...(ca !== undefined && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
  };
}
