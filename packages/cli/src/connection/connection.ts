import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { createZooKeeper, formatServer } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { configuredConnection, findEmbeddedServer, stateDirCandidates } from '@nodepool/core/config';
import type { ConfiguredConnection } from '@nodepool/core/config';
import type { CliContext } from '../command/context.js';
import { NoConnectionError } from '../command/errors.js';
import { loadConnectionConfig } from './config.js';

const DEFAULT_SESSION_TIMEOUT_MS = 10_000;

/** The embedded server of this machine. */
async function embeddedServer({ options, env }: CliContext) {
  const directories = stateDirCandidates({ stateDir: options.stateDir, env });
  const found = await findEmbeddedServer(directories);
  if (found) return found;
  const finding =
    `No zookeeper-servers are configured, and no launcher of this machine runs an embedded server ` +
    `(looked in ${directories.join(', ')})`;
  throw new NoConnectionError(
    'NoServer',
    finding,
    'start nodepool-launcher, or name its --state-dir; from another computer, ' +
      'only run, ssh, request, release, certificate, explain and list --mine work, with --server or NODEPOOL_SERVER',
  );
}

/**
 * The configuration without its providers; a missing default file stands for nothing configured.
 * @param checks - gets the settings of ZooKeeper also if the rest is wrong
 * @throws ConfigError
 */
export async function loadIfPresent(
  context: CliContext,
  checks?: Parameters<typeof loadConnectionConfig>[1],
): Promise<Config | undefined> {
  const { access } = await import('node:fs/promises');
  try {
    await access(context.options.configFile);
  } catch (error) {
    if (!context.options.configFileNamed && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  return loadConnectionConfig(context, checks);
}

async function findServers(context: CliContext, known: KnownSettings | undefined): Promise<ConfiguredConnection> {
  const { zookeeper } = known ?? (await loadIfPresent(context)) ?? {};
  const configured = zookeeper && configuredConnection(zookeeper);
  if (configured && configured.servers.length > 0) return configured;
  return { sessionTimeoutMs: DEFAULT_SESSION_TIMEOUT_MS, ...configured, ...(await embeddedServer(context)) };
}

/** The settings of a configuration that has been read; without `zookeeper` they are not known. */
export type KnownSettings = Partial<Pick<Config, 'zookeeper'>>;

function describeServers({ servers, tls }: ConfiguredConnection): string {
  return `${servers.map(formatServer).join(', ')}${tls ? ' (TLS)' : ''}`;
}

/**
 * Connects to the ZooKeeper of the configuration, or to the embedded server of this machine.
 * @throws NoConnectionError when no server answers in time
 */
export async function connectZooKeeper(
  context: CliContext,
  signal?: AbortSignal,
  known?: KnownSettings,
): Promise<ZooKeeper> {
  const target = await findServers(context, known);
  const zk = createZooKeeper({ ...target, logger: context.logger.child({}, 'zk.ZooKeeper') });
  const timeoutMs = context.options.connectTimeoutMs;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    await zk.whenConnected(signal ? AbortSignal.any([signal, timeout]) : timeout);
    return zk;
  } catch (error) {
    const { lastFailure } = zk;
    await zk.close();
    if (!timeout.aborted) throw error;
    throw await noAnswer(target, timeoutMs, lastFailure);
  }
}

/** The error for a server that did not answer. An embedded server reports the reason itself, on its Unix socket. */
async function noAnswer(target: ConfiguredConnection, timeoutMs: number, last: Error | undefined): Promise<Error> {
  const [first] = target.servers;
  const why = first?.host.startsWith('/') === true ? await whyNotServing(first.host) : undefined;
  if (why !== undefined) {
    const [finding = '', ...steps] = why.split('; ');
    return new NoConnectionError(
      'CannotWrite',
      `The embedded ZooKeeper server does not serve: ${finding}.`,
      steps.join('; '),
    );
  }
  const attempt = last === undefined ? '' : ` The last attempt: ${last.message}.`;
  return new NoConnectionError(
    'NoServer',
    `No ZooKeeper server answered within ${timeoutMs / 1000} s: ${describeServers(target)}.${attempt}`,
    'Is it running, and do port, TLS and firewall agree? --debug shows each attempt',
  );
}

/**
 * Runs `use` with a connection and closes it afterwards, unless the context shares one.
 * @param known - default: those of the configuration
 */
export async function withZooKeeper<T>(
  context: CliContext,
  use: (zk: ZooKeeper) => Promise<T>,
  known?: KnownSettings,
): Promise<T> {
  const { kept } = context;
  if (kept) return use((kept.zk ??= await connectZooKeeper(context, undefined, known)));
  const zk = await connectZooKeeper(context, undefined, known);
  try {
    return await use(zk);
  } finally {
    await zk.close();
  }
}

const ANSWER_MS = 2_000;
/** Answer of a ZooKeeper server that does not serve; the embedded one adds the cause. */
const NOT_SERVING = /^This ZooKeeper instance is not currently serving requests\n(.+)/;

/** Why the embedded server behind this Unix socket does not serve; `undefined`: it serves, or does not answer. */
async function whyNotServing(path: string): Promise<string | undefined> {
  const socket = createConnection({ path });
  const cancel = AbortSignal.timeout(ANSWER_MS);
  cancel.addEventListener('abort', () => socket.destroy());
  try {
    socket.write('srvr');
    return NOT_SERVING.exec(await text(socket))?.[1];
  } catch {
    return undefined; // no server, or one that hangs: the connection error is all there is
  } finally {
    socket.destroy();
  }
}
