import { readFile } from 'node:fs/promises';
import { NodepoolClient, NodepoolClientError } from '@nodepool/client';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { shellWord } from '@nodepool/core/service';
import { UsageError } from '../command/usage-error.js';

/** A server as the command line names it. */
export interface ServerArguments {
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
  readonly caFile: string | undefined;
  readonly isInsecure: boolean;
}

/** A web server to lease from. */
export interface Server {
  readonly url: string;
  readonly token: string | undefined;
  readonly ca: string | undefined;
  /** Whether the token may be sent over plain HTTP to another computer. */
  readonly isInsecure: boolean;
  /** Options that lead another command here, each after a blank; empty if the environment does. */
  readonly options: string;
}

/**
 * The server that the command line names, or the environment. The latter counts less than `-c` and `--state-dir`.
 * @returns `undefined` if nothing names one: ZooKeeper is used
 * @throws UsageError an option without a server; CliError a file that cannot be read
 */
export async function findServer(context: CliContext, args: ServerArguments): Promise<Server | undefined> {
  const { env, options } = context;
  const named = options.configFileNamed || options.stateDir !== undefined;
  if (named && args.url !== undefined)
    throw new UsageError('--server leases without ZooKeeper: leave out -c and --state-dir');
  const url = args.url ?? (named ? undefined : env['NODEPOOL_SERVER'] || undefined);
  if (url === undefined) {
    const { tokenFile, caFile, isInsecure } = args;
    const given = { '--token-file': tokenFile !== undefined, '--ca': caFile !== undefined, '--insecure': isInsecure };
    const [lonely] = Object.entries(given).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
    if (lonely !== undefined) throw new UsageError(`${lonely} needs a server: --server URL, or NODEPOOL_SERVER`);
    return undefined;
  }
  const tokenFile = tokenFileOf(context, args);
  const caFile = args.caFile ?? (env['NODEPOOL_CA'] || undefined);
  const written = { '--server': args.url, '--token-file': args.tokenFile, '--ca': args.caFile };
  const words = Object.entries(written).flatMap(([name, value]) =>
    value === undefined ? [] : [name, shellWord(value)],
  );
  return {
    url,
    token: tokenFile === undefined ? tokenOf(env['NODEPOOL_TOKEN'] ?? '') : await readToken(tokenFile),
    ca: caFile === undefined ? undefined : await readCertificates(caFile),
    isInsecure: args.isInsecure || env['NODEPOOL_INSECURE'] === '1',
    options: [...words, ...(args.isInsecure ? ['--insecure'] : [])].map((word) => ` ${word}`).join(''),
  };
}

/** Where the token is kept, which is for this computer alone. @returns `undefined`: in no file that is known here */
export function tokenFileOf({ env }: CliContext, { tokenFile }: ServerArguments): string | undefined {
  return tokenFile ?? (env['NODEPOOL_TOKEN_FILE'] || undefined);
}

const TOKEN = /^[\x21-\x7e]+$/;

function tokenOf(text: string): string | undefined {
  if (text === '') return undefined;
  if (TOKEN.test(text)) return text;
  throw new CliError('NODEPOOL_TOKEN has more than one word of ASCII letters: it takes a token, not a file');
}

async function readToken(file: string): Promise<string> {
  const token = (await read(file, 'the token (--token-file, NODEPOOL_TOKEN_FILE)')).trim();
  if (TOKEN.test(token)) return token;
  const found = token === '' ? 'is empty' : 'has more than one word of ASCII letters';
  throw new CliError(
    `${file} (--token-file, NODEPOOL_TOKEN_FILE) ${found}: store there what "nodepool token create" printed`,
  );
}

async function readCertificates(file: string): Promise<string> {
  const text = await read(file, 'the certificate (--ca, NODEPOOL_CA)');
  if (/^-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/m.test(text)) return text;
  throw new CliError(`${file} (--ca, NODEPOOL_CA) has no certificate: name a file in PEM form, with BEGIN CERTIFICATE`);
}

async function read(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`Cannot read ${what}: ${describeError(error)}`, { cause: error });
  }
}

/** @param onRetry - called with each failure after which a call is repeated. @throws UsageError the address is malformed */
export function createClient(
  { url, token, ca, isInsecure: insecure }: Server,
  { options }: CliContext,
  onRetry?: (error: Error) => void,
): NodepoolClient {
  try {
    return new NodepoolClient({ url, token, ca, insecure, retryMs: options.connectTimeoutMs, onRetry });
  } catch (error) {
    if (!(error instanceof NodepoolClientError)) throw error;
    const advice =
      error.code === 'insecure' ? '. Here: --insecure, or NODEPOOL_INSECURE=1' : ' (--server, NODEPOOL_SERVER)';
    throw new UsageError(`${error.message}${advice}`);
  }
}

/** What a user of the command line can do about some refusals. */
const ADVICE: Readonly<Record<string, string>> = {
  'bad-token': 'Name the file with your token: --token-file FILE, or NODEPOOL_TOKEN_FILE',
  unreachable: 'No launcher answers there: start nodepool-launcher, or name another one with --server',
  insecure: 'Here: --server with https://',
};

/** An error of the client as one of the command line; other errors unchanged. */
export function serverError(error: unknown): unknown {
  if (!(error instanceof NodepoolClientError)) return error;
  const advice = ADVICE[error.code];
  return new CliError(advice === undefined ? error.message : `${error.message}. ${advice}`, { cause: error });
}

/** Runs `use` with a client, and translates its errors. */
export async function withServer<T>(
  server: Server,
  context: CliContext,
  use: (client: NodepoolClient) => Promise<T>,
): Promise<T> {
  const client = createClient(server, context);
  try {
    return await use(client);
  } catch (error) {
    throw serverError(error);
  } finally {
    client.close();
  }
}
