import { NODE_ID_TAG } from '@nodepool/core';
import type { Config, Provider, ProviderConfig, Resource } from '@nodepool/core';
import { createDriverRegistry } from '@nodepool/core/config';
import { AlienAdoption, formatAge, uploadEvidence } from '@nodepool/core/service';
import type { Listing, AlienResource } from '@nodepool/core/service';
import { ImageTree, nodePath, readDatabaseId } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { closestWord } from '../command/closest.js';
import { defineCommand, flag, text } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchNode, fetchNodeRows } from '../connection/fetch-records.js';
import { makeProvider } from '../connection/make-provider.js';
import { isConfirmed } from '../terminal/confirm.js';
import { Interrupts } from '../terminal/interrupts.js';
import { printListing } from '../terminal/output.js';

/** `nodepool adopt`. */
export const command = defineCommand({
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  options: {
    yes: { type: 'boolean', default: false, describe: 'do not ask for confirmation' },
    force: { type: 'boolean', default: false, describe: 'also adopt resources with the id of another database' },
  },
  parse: (values) => ({
    provider: text(values, 'provider') ?? '',
    yes: flag(values, 'yes'),
    force: flag(values, 'force'),
  }),
  run: adoptAliens,
});

interface AdoptArguments {
  readonly provider: string;
  readonly yes: boolean;
  readonly force: boolean;
}

/** Records of this database. */
interface Records {
  readonly databaseId: string | undefined;
  readonly nodes: Map<string, NodeRecord>;
  readonly tree: ImageTree;
}

const alienListing: Listing<AlienResource> = [
  { key: 'type', header: 'Type', level: 'brief', value: ({ type }) => type },
  { key: 'id', header: 'ID', level: 'brief', value: ({ id }) => id },
  { key: 'name', header: 'Name', level: 'brief', value: ({ name }) => name ?? null },
  { key: 'node', header: 'Node', level: 'brief', value: ({ nodeId }) => nodeId ?? null },
  { key: 'build', header: 'Build', level: 'brief', value: ({ buildId }) => buildId ?? null },
  { key: 'database', header: 'Database', level: 'brief', value: ({ databaseId }) => databaseId ?? null },
  {
    key: 'age',
    header: 'Age',
    level: 'brief',
    value: ({ sinceMs }, nowMs) => Math.floor((nowMs - sinceMs) / 1_000),
    cell: ({ sinceMs }, nowMs) => formatAge(nowMs - sinceMs),
  },
];

/**
 * `nodepool adopt`: lists cloud resources that are tagged with a provider and have neither a record in this database nor its
 * id; once confirmed, tags them with the id, so that launchers and builders delete them.
 * @returns 1 when resources remain alien, else 0: all were adopted, are gone or have a record, or there were none
 * @throws CliError for an unknown provider, or one whose driver cannot do it
 */
async function adoptAliens(context: CliContext, args: AdoptArguments): Promise<number> {
  const registry = createDriverRegistry(driverPlaces(context.options.configFile));
  const config = await loadFullConfig(context, registry);
  const configured = choose(config, args.provider);
  return withZooKeeper(context, async (zk) => {
    const tree = new ImageTree({ zk, clock: context.clock, logger: context.logger, changed: () => undefined });
    const interrupts = new Interrupts();
    const provider = await makeProvider(context, { zk, config, registry }, configured);
    try {
      await (provider.startImages ?? provider.start).call(provider, interrupts.signal);
      await tree.start();
      const rows = await fetchNodeRows({ ...context, zk });
      const nodes = new Map<string, NodeRecord>(rows.map(({ node }) => [node.id, node]));
      const records: Records = { databaseId: await readDatabaseId(zk), nodes, tree };
      return await listAndAdopt(context, { zk, provider, records, args }, interrupts.signal);
    } finally {
      interrupts.dispose();
      tree.stop();
      provider.stop();
      await provider.join();
    }
  });
}

interface Work {
  readonly zk: ZooKeeper;
  readonly provider: Provider;
  readonly records: Records;
  readonly args: AdoptArguments;
}

async function listAndAdopt(context: CliContext, work: Work, signal: AbortSignal): Promise<number> {
  const { provider, records, args } = work;
  if (!provider.listResources && !provider.listImages) {
    throw new CliError(`the driver of provider ${args.provider} cannot list what its cloud has`);
  }
  const adoption = new AlienAdoption({
    ...{
      provider,
      clock: context.clock,
      evidence: { provider: args.provider, ...records, images: uploadEvidence(records.tree) },
    },
    reread: (resource) => reread(context, work, resource),
  });
  const aliens = await adoption.find(signal);
  printListing(context, alienListing, aliens, { width: undefined }); // ids must be whole to be compared with the cloud's
  const chosen = aliens.filter(({ databaseId }) => args.force || databaseId === undefined);
  if (chosen.length < aliens.length) {
    const others = aliens.length - chosen.length;
    inform(`${others} of them have the id of another database, which may use them. Adopting them needs --force.`);
  }
  if (chosen.length === 0) return aliens.length === 0 ? 0 : 1;
  if (!(await mayAdopt(work, chosen))) return 1;
  const isComplete = await adoptAll(context, adoption, chosen, { ...work, signal });
  return isComplete && chosen.length === aliens.length ? 0 : 1;
}

/** Describes the effect and asks for confirmation. */
async function mayAdopt({ provider, records, args }: Work, chosen: readonly AlienResource[]): Promise<boolean> {
  const { databaseId, nodes } = records;
  if (databaseId === undefined) {
    throw new CliError('nothing adopted: this database has no id yet; start a launcher on it first');
  }
  if (!provider.tagResource) {
    throw new CliError(
      `nothing adopted: the driver of provider ${args.provider} cannot tag resources; delete them with the tools of the cloud`,
    );
  }
  const own = [...nodes.values()].filter((node) => node.provider === args.provider).length;
  inform(`This database (${databaseId}) has ${own} nodes of provider ${args.provider}.`);
  const foreign = chosen.flatMap(({ databaseId: other }) => other ?? []);
  if (foreign.length > 0) {
    const owners = [...new Set(foreign)].join(', ');
    inform(
      `${foreign.length} of the ${chosen.length} resources have the id of another database (${owners}), which may use them.`,
    );
  }
  inform('WARNING! The launchers of this database delete adopted resources within seconds or minutes, in use or not.');
  if (args.yes) return true;
  if (!process.stdin.isTTY) {
    inform('Nothing adopted: there is no terminal to ask at. Add --yes to adopt them.');
    return false;
  }
  if (await isConfirmed(`Adopt ${chosen.length} resources of provider ${args.provider}?`)) return true;
  print('Nothing adopted.');
  return false;
}

/** @returns whether none of them remains alien */
async function adoptAll(
  context: CliContext,
  adoption: AlienAdoption,
  chosen: readonly AlienResource[],
  { args, signal }: { readonly args: AdoptArguments; readonly signal: AbortSignal },
): Promise<boolean> {
  let adopted = 0;
  let remaining = 0;
  for (const alien of chosen) {
    signal.throwIfAborted();
    const name = `${alien.type} ${alien.id}`;
    try {
      const result = await adoption.adopt(alien, args.force, signal);
      if (result === 'adopted') adopted++;
      else inform(`${name} was not adopted: ${WHY_LEFT[result]}`);
      if (result === 'unreadable' || result === 'other-database') remaining++;
    } catch (error) {
      if (signal.aborted) throw error;
      remaining++;
      context.logger.warn(`${name} could not be tagged: ${describeError(error)}`);
    }
  }
  const outlook = adopted === 0 ? '' : '; launchers delete them once two sweeps have seen them';
  inform(`Adopted ${adopted} of ${chosen.length} resources${outlook}.`);
  return remaining === 0;
}

const WHY_LEFT = {
  gone: 'it is gone from the cloud',
  recorded: 'it has a record now',
  unreadable: 'a record that may name it cannot be read; the warning above names the record',
  'other-database': 'it has the id of another database',
} as const;

/** The records of one resource, as ZooKeeper has them now. @returns false when one cannot be read */
async function reread(context: CliContext, { zk, records }: Work, { metadata }: Resource): Promise<boolean> {
  const nodeId = metadata[NODE_ID_TAG];
  if (nodeId === undefined) {
    await records.tree.settle();
    return true;
  }
  if (!/^\d{10}$/.test(nodeId)) return true;
  await zk.sync('/');
  const node = await fetchNode({ ...context, zk }, nodeId as NodeId);
  if (node) records.nodes.set(nodeId, node);
  else records.nodes.delete(nodeId);
  return node !== undefined || (await zk.exists(nodePath(nodeId as NodeId))) === undefined;
}

function choose(config: Config, name: string): ProviderConfig {
  const provider = config.providers.get(name);
  if (provider) return provider;
  const names = [...config.providers.keys()];
  const meant = closestWord(name, names);
  const hint = meant === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean ${meant}?`;
  throw new CliError(`${config.file} has no provider ${name}: ${hint}`);
}
