import { isZooKeeperError, requestPath } from '@nodepool/zk-protocol';
import type { RequestId } from '@nodepool/zk-protocol';
import { withZooKeeper } from '../connection/connection.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';

/**
 * `nodepool cancel`: deletes a request as its requestor would. Launchers then give back what they have collected for it;
 * a requestor that still wants its nodes asks again.
 */
export async function cancelRequest(context: CliContext, id: RequestId): Promise<void> {
  if (!(await withZooKeeper(context, (zk) => isDeleted(zk.delete(requestPath(id)))))) {
    const text = `Request id ${id} not found`;
    if (context.options.strict) throw new CliError(text);
    print(text);
    return;
  }
  print(`Request ${id} is cancelled`);
}

async function isDeleted(deletion: Promise<void>): Promise<boolean> {
  try {
    await deletion;
    return true;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return false;
    throw error;
  }
}
