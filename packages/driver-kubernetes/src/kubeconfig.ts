import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { ConfigError } from '@nodepool/core';
import { parse, YAMLParseError } from 'yaml';
import { messageOf } from './errors.js';
import { checkProxyUrl } from './proxy.js';

/** Environment of the process. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A program that prints credentials. */
export interface ExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** What to do if the program is missing. */
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
}

/** How to log in. */
export interface ClusterUser {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** PEM. */
  readonly certificate?: string | undefined;
  /** PEM. */
  readonly key?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly exec?: ExecConfig | undefined;
}

/** A cluster, and how to log in. */
export interface Cluster {
  /** Name of the context. */
  readonly context: string;
  readonly server: string;
  /** PEM; `undefined`: the authorities of the system. */
  readonly ca: string | undefined;
  readonly skipTls: boolean;
  readonly tlsServerName: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly user: ClusterUser;
}

/** Where to read how to reach a cluster. */
export interface ClusterSource {
  /** Path of a kubeconfig file. Default: those of KUBECONFIG, else `~/.kube/config`. */
  readonly file: string | undefined;
  /** Default: the current one of the files. */
  readonly context: string | undefined;
  readonly env: Env;
}

type Raw = Readonly<Record<string, unknown>>;

/** Folder in which a pod finds its service account. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Files that are read, in their order: the first one that has a name wins. */
export function kubeconfigFiles(file: string | undefined, env: Env): string[] {
  if (file !== undefined) return [file];
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter(Boolean);
  return listed.length > 0 ? listed : [join(env['HOME'] ?? homedir(), '.kube', 'config')];
}

/**
 * Reads how to reach a cluster: from the files, else from the service account of the pod in which this runs.
 * @throws {ConfigError} nothing is found, or it is invalid
 */
export async function readCluster(
  { file, context, env }: ClusterSource,
  serviceAccountFolder = SERVICE_ACCOUNT_FOLDER,
): Promise<Cluster> {
  const files = kubeconfigFiles(file, env);
  const found = await Promise.all(files.map(readConfig));
  const configs = found.filter((one) => one !== undefined);
  if (configs.length > 0) return clusterIn(configs, files, context);
  if (file === undefined && context === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined) {
    return inCluster(env, serviceAccountFolder);
  }
  throw new ConfigError(
    `no kubeconfig file: looked for ${files.join(', ')}` +
      (env['KUBERNETES_SERVICE_HOST'] === undefined ? ', and this does not run in a pod' : '') +
      ': write one, or name it with "kubeconfig" or KUBECONFIG',
  );
}

interface ConfigFile {
  readonly folder: string;
  readonly content: Raw;
}

async function readConfig(file: string): Promise<ConfigFile | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError(`kubeconfig ${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    const content: unknown = parse(text, { logLevel: 'error' });
    if (isMap(content)) return { folder: dirname(resolve(file)), content };
  } catch (error) {
    // The message of the parser quotes the file, and so secrets.
    const at = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    const place = at === undefined ? file : `${file}:${at.line}:${at.col}`;
    throw new ConfigError(`kubeconfig ${place} is no YAML: check its indentation, quotes and aliases`);
  }
  throw new ConfigError(`kubeconfig ${file} is empty`);
}

async function clusterIn(configs: ConfigFile[], files: string[], wanted: string | undefined): Promise<Cluster> {
  const current = configs.map(({ content }) => textOf(content['current-context'])).find(Boolean);
  const context = wanted ?? current;
  const where = files.join(', ');
  if (context === undefined) throw new ConfigError(`${where}: no "current-context"; name one with "context"`);
  const entry = find(configs, 'contexts', 'context', context);
  if (!entry) {
    const names = configs.flatMap(({ content }) => namesIn(content['contexts'])).join(', ') || 'none';
    throw new ConfigError(`${where}: there is no context "${context}"; there are: ${names}`);
  }
  const clusterName = textOf(entry.value['cluster']) ?? '';
  const cluster = find(configs, 'clusters', 'cluster', clusterName);
  const server = textOf(cluster?.value['server']);
  if (!cluster || server === undefined) {
    throw new ConfigError(`${where}: context "${context}" names cluster "${clusterName}", which has no server`);
  }
  const user = find(configs, 'users', 'user', textOf(entry.value['user']) ?? '');
  return {
    context,
    server: server.replace(/\/+$/, ''),
    ca: await pem(cluster, 'certificate-authority'),
    skipTls: cluster.value['insecure-skip-tls-verify'] === true,
    tlsServerName: textOf(cluster.value['tls-server-name']),
    proxyUrl: checkProxyUrl(textOf(cluster.value['proxy-url']), context),
    user: user ? await userOf(user, context) : {},
  };
}

async function userOf(user: Found, context: string): Promise<ClusterUser> {
  const { value, folder } = user;
  if (isMap(value['auth-provider'])) {
    throw new ConfigError(`context "${context}": "auth-provider" is no longer supported by Kubernetes: use "exec"`);
  }
  const tokenFile = textOf(value['tokenFile']);
  return {
    token: textOf(value['token']),
    tokenFile: tokenFile === undefined ? undefined : resolve(folder, tokenFile),
    certificate: await pem(user, 'client-certificate'),
    key: await pem(user, 'client-key'),
    username: textOf(value['username']),
    password: textOf(value['password']),
    exec: isMap(value['exec']) ? execOf(value['exec'], folder) : undefined,
  };
}

function execOf(exec: Raw, folder: string): ExecConfig {
  const command = textOf(exec['command']) ?? '';
  const pairs = listOf(exec['env']).filter(isMap);
  return {
    // a path is relative to the file, a plain name is looked for in PATH
    command: command.includes('/') && !isAbsolute(command) ? join(folder, command) : command,
    args: listOf(exec['args']).map(String),
    env: Object.fromEntries(pairs.map(({ name, value }) => [textOf(name) ?? '', textOf(value) ?? ''])),
    apiVersion: textOf(exec['apiVersion']) ?? 'client.authentication.k8s.io/v1',
    installHint: textOf(exec['installHint']),
    provideClusterInfo: exec['provideClusterInfo'] === true,
  };
}

async function inCluster(env: Env, folder: string): Promise<Cluster> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const ca = await readFile(join(folder, 'ca.crt'), 'utf8').catch((error: unknown) => {
    throw new ConfigError(`the service account of this pod cannot be read: ${messageOf(error)}`);
  });
  return {
    context: 'in-cluster',
    server: `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`,
    ...{ ca, skipTls: false, tlsServerName: undefined, proxyUrl: undefined },
    user: { tokenFile: join(folder, 'token') },
  };
}

interface Found {
  readonly value: Raw;
  readonly folder: string;
}

function find(configs: ConfigFile[], list: string, key: string, name: string): Found | undefined {
  for (const { folder, content } of configs) {
    const entry = listOf(content[list]).filter(isMap);
    const value = entry.find((one) => one['name'] === name)?.[key];
    if (isMap(value)) return { value, folder };
  }
  return undefined;
}

/** PEM in base64 under `<key>-data`, or in the file named by `<key>`. */
async function pem({ value, folder }: Found, key: string): Promise<string | undefined> {
  const data = textOf(value[`${key}-data`]);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = textOf(value[key]);
  if (file === undefined) return undefined;
  return readFile(resolve(folder, file), 'utf8').catch((error: unknown) => {
    throw new ConfigError(`${key} of the kubeconfig cannot be read: ${messageOf(error)}`);
  });
}

function namesIn(list: unknown): string[] {
  return listOf(list)
    .filter(isMap)
    .map(({ name }) => textOf(name) ?? '');
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isMap(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
