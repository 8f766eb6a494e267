import type { RequestId } from '@nodepool/zk-protocol';
import { REQUESTS_ROOT, isZooKeeperError, requestPath } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { ifPresent } from '../connection/fetch-records.js';

/** `nodepool cancel`. */
export const command = defineCommand({
  positionals: { request: { type: 'string', demandOption: true, describe: 'id of the request' } },
  parse: (values) => ({ id: (text(values, 'request') ?? '') as RequestId }),
  run: (context, { id }) => cancelRequest(context, id),
});

/**
 * `nodepool cancel`: deletes a request as its requestor would. Launchers then give back what they have collected for it;
 * a requestor that still wants its nodes asks again.
 * @throws CliError there is no such request
 */
async function cancelRequest(context: CliContext, id: RequestId): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    if (await isDeleted(zk.delete(requestPath(id)))) return;
    const known = (await ifPresent(zk.getChildren(REQUESTS_ROOT))) ?? [];
    const meant = known.find((each) => Number(each.split('-')[1]) === Number(id));
    throw new CliError(`Request id ${id} not found${meant === undefined ? '' : `, did you mean ${meant}?`}`);
  });
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
