import { formatAge, shellWord, withRanks, type Listing } from '@nodepool/core/service';
import {
  decodeLeaseToken,
  isSignedLeaseToken,
  LEASE_TOKENS_ROOT,
  leaseTokenPath,
  type LeaseTokenRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { inform, type CliContext } from '../command/context.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { printListing } from '../terminal/output.js';
import { findTokenKeys, type TokenKeys } from './token-keys.js';

/** `unknown`: the keys are not known here. */
type TokenState = 'valid' | 'expired' | 'not signed' | 'unknown';

interface TokenRow {
  readonly token: LeaseTokenRecord;
  readonly state: TokenState;
}

const timeText = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

const tokenListing: Listing<TokenRow> = withRanks(
  [
    { key: 'name', header: 'Name', level: 'brief', value: ({ token }) => token.name },
    { key: 'owner', header: 'Owner', level: 'brief', value: ({ token }) => token.owner },
    { key: 'labels', header: 'Labels', level: 'brief', value: ({ token }) => [...token.labels] },
    { key: 'max_ttl', header: 'Max TTL', level: 'brief', value: ({ token }) => formatAge(token.maxTtlMs) },
    { key: 'max_nodes', header: 'Max Nodes', level: 'brief', value: ({ token }) => token.maxNodes },
    { key: 'tenant', header: 'Tenant', level: 'brief', value: ({ token }) => token.tenantName },
    { key: 'priority', header: 'Priority', level: 'brief', value: ({ token }) => token.highestPriority },
    { key: 'admin', header: 'Admin', level: 'brief', value: ({ token }) => token.admin },
    { key: 'age', header: 'Age', level: 'brief', value: ({ token }, nowMs) => formatAge(nowMs - token.createdTimeMs) },
    { key: 'expires', header: 'Expires', level: 'brief', value: ({ token }) => timeText(token.endTimeMs) },
    { key: 'state', header: 'State', level: 'brief', value: ({ state }) => state },
  ],
  { whole: ['name'], spare: ['tenant', 'priority', 'age', 'max_nodes', 'max_ttl', 'admin', 'labels', 'owner'] },
);

/** `nodepool token list`. */
export async function listTokens(context: CliContext): Promise<void> {
  const [tokens, keys] = await Promise.all([
    withZooKeeper(context, fetchTokens),
    loadIfPresent(context).then((config) => findTokenKeys(context, config)),
  ]);
  const rows = tokens.map((token) => ({ token, state: stateOf(token, keys, context.clock.now()) }));
  printListing(context, tokenListing, rows);
  if (rows.length > 0 && keys.keys.length === 0) inform(`Which tokens are valid is not known here: ${keys.problem}`);
  const [first, ...others] = rows.filter(({ state }) => state === 'not signed').map(({ token }) => token.name);
  if (first === undefined) return;
  inform(
    `${[first, ...others].join(', ')}: not signed with a key of the launchers, so no rights. ` +
      `To make it again: nodepool token revoke ${shellWord(first)}; nodepool token create ${shellWord(first)}`,
  );
}

function stateOf(token: LeaseTokenRecord, { keys }: TokenKeys, nowMs: number): TokenState {
  if (token.endTimeMs !== null && token.endTimeMs <= nowMs) return 'expired';
  if (keys.length === 0) return 'unknown';
  return isSignedLeaseToken(token, keys) ? 'valid' : 'not signed';
}

async function fetchTokens(zk: ZooKeeper): Promise<LeaseTokenRecord[]> {
  const names = (await ifPresent(zk.getChildren(LEASE_TOKENS_ROOT))) ?? [];
  const tokens = await mapPipelined(names.sort(), async (name) => {
    const found = await ifPresent(zk.getData(leaseTokenPath(name)));
    try {
      return found && decodeLeaseToken(name, found.data, found.stat);
    } catch (error) {
      inform(
        `${name} is no token, and gives no rights: ${(error as Error).message}. ` +
          `To remove it: nodepool token revoke ${shellWord(name)}`,
      );
      return undefined;
    }
  });
  return tokens.filter((token) => token !== undefined);
}
