import { ensureDatabaseId, isOlderCopy, readDatabaseMark, writeDatabaseMark } from '@nodepool/zk-protocol';
import type { DatabaseOrder } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadConnectionConfig } from '../connection/config.js';
import { withZooKeeper } from '../connection/connection.js';
import { isConfirmed } from '../terminal/confirm.js';

interface ImageFilesArguments {
  readonly order: DatabaseOrder;
  readonly yes: boolean;
}

/** `nodepool image-files`. */
export const command = defineCommand({
  positionals: {
    action: {
      type: 'string',
      demandOption: true,
      choices: ['adopt', 'forget'],
      describe: 'adopt: make records of builds that the database does not know; forget: delete these builds',
    },
  },
  options: { yes: { type: 'boolean', default: false, describe: 'do not ask for confirmation' } },
  parse: (values): ImageFilesArguments => ({
    order: text(values, 'action') === 'adopt' ? 'adopt' : 'forget',
    yes: flag(values, 'yes'),
  }),
  run: orderImageFiles,
});

/**
 * `nodepool image-files`: writes an order for the builder of this machine, whose files belong to another database or a newer copy, beside
 * them. The builder carries it out within a minute, or when it starts.
 * @returns 1 if it was not confirmed
 * @throws {CliError} there is no `images-dir`, or it cannot be written to
 */
async function orderImageFiles(context: CliContext, { order, yes }: ImageFilesArguments): Promise<number> {
  const { imagesDir, file } = await loadConnectionConfig(context);
  if (imagesDir === undefined)
    throw new CliError(`${file} has no images-dir: run it with the configuration of a builder`);
  const mark = await readDatabaseMark(imagesDir);
  const { id, isOlder } = await withZooKeeper(context, async (zk) => ({
    id: await ensureDatabaseId(zk),
    isOlder: mark !== undefined && (await isOlderCopy(zk, mark)),
  }));
  if (mark?.id === id && mark.order === undefined && !isOlder) {
    print(`The files in ${imagesDir} belong to this database already: there is nothing to do.`);
    return 0;
  }
  const question = `Delete all builds in ${imagesDir} that the database ${id} does not know?`;
  if (order === 'forget' && !yes && !(await isConfirmed(question))) {
    print('Nothing was changed.');
    return 1;
  }
  await write(imagesDir, id, order);
  print(
    `The builder ${order === 'adopt' ? 'adopts' : 'deletes'} the builds in ${imagesDir} within a minute, or when it starts.`,
  );
  return 0;
}

async function write(imagesDir: string, id: string, order: DatabaseOrder): Promise<void> {
  try {
    await writeDatabaseMark(imagesDir, { id, order });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`cannot write to ${imagesDir}: ${reason}; run it on the builder's machine, as its user or root`);
  }
}
