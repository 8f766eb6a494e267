import { createHash, randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import {
  encodeLeaseToken,
  isLocalOwner,
  isZooKeeperError,
  LEASE_TOKEN_NAME,
  LEASE_TOKENS_ROOT,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  signLeaseToken,
  type LeaseRights,
  type LeaseTokenRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { defineCommand, flag, last, text, texts, type Values } from '../command/command.js';
import { print, inform, type CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { CliError, describeError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { endLeasesOf } from '../token/end-leases.js';
import { listTokens } from '../token/list-tokens.js';
import { findTokenKeys, signingKey } from '../token/token-keys.js';

const PRIORITIES = { high: 100, normal: 200, low: 300 } as const;
const SECRET_BYTES = 32;
const OWNER_ONLY = 0o600;

/** Arguments that only `create` has. */
const NOTHING = { rights: undefined, expiresInMs: undefined, file: undefined, endsLeases: false };

/** Names of callers that have no record. */
const RESERVED = ['anonymous'];

/** `nodepool token`. */
export const command = defineCommand({
  positionals: {
    action: { type: 'string', demandOption: true, choices: ['create', 'list', 'revoke'], describe: 'what to do' },
    name: { type: 'string', describe: 'name of the token: letters a-z, digits and dashes' },
  },
  options: {
    owner: { type: 'string', requiresArg: true, value: 'NAME', describe: 'person or team; default: name of the token' },
    label: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'PATTERN', default: ['*'] },
      describe: "labels it may lease, e.g. 'ubuntu-*'; repeatable",
    },
    'max-ttl': {
      type: 'string',
      requiresArg: true,
      value: 'TIME',
      default: '8h',
      describe: 'longest lease or renewal',
    },
    'max-nodes': {
      type: 'number',
      requiresArg: true,
      value: 'N',
      describe: 'most nodes at a time; default: any number',
    },
    tenant: { type: 'string', requiresArg: true, value: 'NAME', describe: 'tenant whose resource limits apply' },
    priority: { choices: ['high', 'normal', 'low'], default: 'normal', describe: 'highest priority' },
    'expires-in': { type: 'string', requiresArg: true, value: 'TIME', describe: 'end of the token; default: never' },
    admin: { type: 'boolean', default: false, describe: 'may see and end the leases of all owners' },
    output: {
      type: 'string',
      requiresArg: true,
      value: 'FILE',
      describe: 'write the token to this new file, for you alone, and do not print it',
    },
    'end-leases': { type: 'boolean', default: false, describe: 'with revoke: end its leases, too' },
  },
  reads: true,
  parse(values) {
    const name = text(values, 'name');
    const action = text(values, 'action') ?? '';
    if (action === 'list') return { ...NOTHING, action, name: '' };
    refuseListOptions(values, action);
    if (name === undefined) throw new UsageError(`token ${action} needs a name: nodepool token ${action} NAME`);
    if (!LEASE_TOKEN_NAME.test(name)) {
      throw new UsageError(`"${name}" is no name of a token: use a-z, 0-9 and dashes, at most 63 characters`);
    }
    if (action === 'revoke') return { ...NOTHING, action, name, endsLeases: flag(values, 'end-leases') };
    const expiresIn = text(values, 'expires-in');
    const expiresInMs = expiresIn === undefined ? undefined : parseDuration(expiresIn, '--expires-in');
    if (expiresInMs !== undefined && expiresInMs <= 0) throw new UsageError('--expires-in needs a time above 0');
    const file = text(values, 'output');
    return { ...NOTHING, action, name, rights: rightsOf(name, values), expiresInMs, file };
  },
  run(context, { action, name, rights, expiresInMs, file, endsLeases }) {
    if (action === 'list') return listTokens(context);
    if (rights === undefined) return revoke(context, name, endsLeases);
    return create(context, { name, rights, expiresInMs, file });
  },
});

/** @throws UsageError for an option of listings: `--watch` would repeat a change */
function refuseListOptions(values: Values, action: string): void {
  const given = { fields: text(values, 'fields'), watch: text(values, 'watch') };
  const [option] = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]));
  const refused = option ?? (values['headers'] === false ? '--no-headers' : undefined);
  if (refused !== undefined) throw new UsageError(`${refused} is an option of token list, not of token ${action}`);
}

function rightsOf(name: string, values: Values): LeaseRights {
  const maxNodes = last(values, 'max-nodes') as number | undefined;
  if (maxNodes !== undefined && (!Number.isInteger(maxNodes) || maxNodes < 1)) {
    throw new UsageError('--max-nodes needs a whole number above 0');
  }
  const owner = text(values, 'owner') ?? name;
  if (isLocalOwner(owner)) {
    throw new UsageError(`--owner ${owner}: names that begin with uid: are those of users without a token`);
  }
  const maxTtlMs = parseDuration(text(values, 'max-ttl') ?? '', '--max-ttl');
  if (maxTtlMs <= 0) throw new UsageError('--max-ttl needs a time above 0');
  return {
    ...{ owner, labels: texts(values, 'label'), maxTtlMs, maxNodes: maxNodes ?? null },
    tenantName: text(values, 'tenant') ?? null,
    highestPriority: PRIORITIES[(text(values, 'priority') ?? 'normal') as keyof typeof PRIORITIES],
    admin: flag(values, 'admin'),
  };
}

/** A token to create. */
interface Wanted {
  readonly name: string;
  readonly rights: LeaseRights;
  /** `undefined`: it does not end by itself. */
  readonly expiresInMs: number | undefined;
  /** `undefined`: print it. */
  readonly file: string | undefined;
}

/** `nodepool token create`: prints the token, or writes it to a file. It is stored as a hash only. @throws CliError */
async function create(context: CliContext, { name, rights, expiresInMs, file }: Wanted): Promise<void> {
  const config = await loadIfPresent(context);
  if ([...RESERVED, ...(config?.apiTokens ?? []).map((each) => each.name)].includes(name)) {
    throw new CliError(`"${name}" is the name of another kind of caller (api-tokens, anonymous): choose another name`);
  }
  const key = signingKey(await findTokenKeys(context, config));
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const hash = createHash('sha256').update(secret).digest('hex');
  const nowMs = context.clock.now();
  const token = newLeaseToken(
    { ...rights, name, hash, endTimeMs: expiresInMs === undefined ? null : nowMs + expiresInMs },
    nowMs,
  );
  await withZooKeeper(context, async (zk) => {
    await Promise.all([zk.ensurePath(LEASE_TOKENS_ROOT), zk.ensurePath(leaseSlotsPath(name))]);
    const signed = signLeaseToken(token, key);
    if (file === undefined) await store(zk, signed);
    else await writeSecret(file, `${name}.${secret}\n`, () => store(zk, signed));
  });
  if (file === undefined) {
    inform('The token is shown once and cannot be read again:');
    print(`${name}.${secret}`);
  } else inform(`The token ${name} is in ${file}, which only you can read`);
}

/** @throws CliError the name is taken */
async function store(zk: ZooKeeper, token: LeaseTokenRecord): Promise<void> {
  try {
    await zk.create(leaseTokenPath(token.name), encodeLeaseToken(token));
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    throw new CliError(`There is a token "${token.name}" already; to replace it: nodepool token revoke ${token.name}`);
  }
}

/**
 * Writes a new file that only its owner may read, and removes it again if `use` fails.
 * @throws CliError there is something of this name, or it cannot be written; what `use` throws
 */
async function writeSecret(file: string, text: string, use: () => Promise<void>): Promise<void> {
  const handle = await open(file, 'wx', OWNER_ONLY).catch((error: unknown) => {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (isThere) throw new CliError(`${file} exists: remove it, or name another file with --output`, { cause: error });
    throw new CliError(`Cannot write ${file}: ${describeError(error)}`, { cause: error });
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
    await use();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/**
 * `nodepool token revoke`.
 * @param endsLeases - whether leases that were requested with it end, too; else they stay until they expire
 * @throws CliError there is none
 */
async function revoke(context: CliContext, name: string, endsLeases: boolean): Promise<void> {
  const ended = await withZooKeeper(context, async (zk) => {
    const isThere = await remove(zk, name);
    // the leases of a token that was revoked before can be ended, too
    if (!isThere && !endsLeases) throw new CliError(`There is no token "${name}"; nodepool token list shows all`);
    return endsLeases ? endLeasesOf(zk, name, context) : undefined;
  });
  print(
    ended === undefined
      ? `Token ${name} is revoked; its leases last until they expire or an operator ends them`
      : `Token ${name} is revoked; leases ended: ${ended}`,
  );
}

/** @returns whether there was such a token */
async function remove(zk: ZooKeeper, name: string): Promise<boolean> {
  try {
    await zk.delete(leaseTokenPath(name));
    return true;
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    return false;
  }
}
