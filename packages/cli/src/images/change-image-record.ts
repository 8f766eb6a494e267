import { isZooKeeperError } from '@nodepool/zk-protocol';
import type { ReadResult, ZooKeeper } from '@nodepool/zk-protocol';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { ifPresent } from '../connection/fetch-records.js';

/** A record as it was read. */
type Stored = Pick<Extract<ReadResult, { read: 'data' }>, 'data' | 'stat'>;

/** The next body of a record, or why it stays unchanged. */
type Change = { readonly body: Buffer } | { readonly stays: string };

/**
 * Changes the record of a build or upload. A record that stays is a success, as scripts rely on it, except with `--strict`.
 * @returns whether the record was changed
 */
export async function changeImageRecord(
  context: CliContext,
  { path, missing }: { readonly path: string; readonly missing: string },
  decide: (stored: Stored) => Change,
): Promise<boolean> {
  const stays = await withZooKeeper(context, (zk) => changeStored(zk, path, missing, decide));
  if (stays === undefined) return true;
  if (context.options.strict) throw new CliError(stays);
  print(stays);
  return false;
}

/** Retries when another process, such as the builder, writes at the same time. */
async function changeStored(
  zk: ZooKeeper,
  path: string,
  missing: string,
  decide: (stored: Stored) => Change,
): Promise<string | undefined> {
  for (;;) {
    const stored = await ifPresent(zk.getData(path));
    const next = stored ? decide(stored) : { stays: missing };
    if ('stays' in next) return next.stays;
    try {
      await zk.setData(path, next.body, stored?.stat.version);
      return undefined;
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION') && !isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}
