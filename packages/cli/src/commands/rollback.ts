import { ROLLBACK_OWNER } from '@nodepool/core/service';
import { delay } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { personName } from '../connection/who-am-i.js';
import { withImages } from '../images/with-images.js';
import {
  adviceFor,
  describeUnfinished,
  findUnfinished,
  hostsOf,
  lasting,
  trialsAmong,
  type Unfinished,
} from '../rollback/find-unfinished.js';
import { endUnfinished } from '../rollback/finish.js';
import { isConfirmed } from '../terminal/confirm.js';

const ROUND_MS = 1_000;

/** `nodepool rollback`. */
export const command = defineCommand({
  options: {
    check: { type: 'boolean', default: false, describe: 'list only; status 1 if something is left to do' },
    'end-leases': { type: 'boolean', default: false, describe: 'end active leases too, and delete their nodes' },
    yes: { type: 'boolean', default: false, describe: 'do not ask' },
  },
  parse: (values) => ({
    check: flag(values, 'check'),
    endLeases: flag(values, 'end-leases'),
    yes: flag(values, 'yes'),
  }),
  run: rollBack,
});

/** Arguments of `nodepool rollback`. */
interface RollbackArguments {
  readonly check: boolean;
  /** End active leases too. */
  readonly endLeases: boolean;
  readonly yes: boolean;
}

/**
 * `nodepool rollback`: prepares the way back to the original Nodepool. Lists what its launchers would not finish, ends what may be
 * ended, waits for the rest, and says when the last launcher of this project may be stopped. Until then those accept no requests. Ends
 * when the last one is gone; interrupted, everything is as before, except for what has been ended.
 */
async function rollBack(context: CliContext, args: RollbackArguments): Promise<number> {
  const owner = `${ROLLBACK_OWNER} (${personName()})`;
  return withImages(context, async ({ zk, images }) => {
    const found = await findUnfinished(context, zk, owner);
    const lines = describeUnfinished(found);
    const advice = adviceFor(found, trialsAmong(images));
    for (const line of [...lines, ...advice]) print(line);
    if (args.check) {
      if (lines.length > 0) print('nodepool rollback ends this, or waits for it');
      else if (advice.length === 0) print('nothing is left to do');
      return lines.length === 0 && advice.length === 0 ? 0 : 1;
    }
    const hosts = hostsOf(found);
    const effect = hosts === '' ? '' : ` Launchers on ${hosts} accept no requests meanwhile.`;
    if (!args.yes && !(await isConfirmed(`End waiting leases and orders, and delete stopped spares?${effect}`))) {
      print('Aborting. Nothing was changed.');
      return 1;
    }
    await finish(context, zk, args, { owner, found });
    print('Done: no launcher of this project is left, and nothing that the original would not finish.');
    print('It ignores what stays in ZooKeeper: tokens, ended leases, health of providers, the id of the database.');
    return 0;
  });
}

/** Ends and waits until nothing is left, and then until no launcher of this project is. */
async function finish(
  context: CliContext,
  zk: ZooKeeper,
  { endLeases }: RollbackArguments,
  { owner, found }: { readonly owner: string; readonly found: Unfinished },
): Promise<void> {
  let [before, told] = [found, ''];
  for (;;) {
    const now = await findUnfinished(context, zk, owner);
    await endUnfinished(context, zk, now, { endsActive: endLeases, owner });
    const text = progressOf(now, before, endLeases);
    if (text === '') return;
    if (text !== told) inform(`nodepool: ${text}`);
    [before, told] = [now, text];
    await delay(context.clock, ROUND_MS);
  }
}

/** @returns an empty text when it is over */
function progressOf(found: Unfinished, before: Unfinished, endsActive: boolean): string {
  const hosts = hostsOf(found);
  // without a launcher that lends, an active lease ends when it is due: the original deletes its nodes
  const lines = describeUnfinished(hosts === '' ? { ...found, active: [], launches: [] } : lasting(found, before));
  if (lines.length > 0) {
    const hint = found.active.length > 0 && !endsActive ? ' (--end-leases ends active leases)' : '';
    return `waiting for ${lines.join('; ')}${hint}`;
  }
  return hosts === '' ? '' : `nothing is left: stop the launchers on ${hosts} now`;
}
