import { listingToObjects } from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import { IMAGES_ROOT, buildProviderPath, buildsPath, uploadsPath } from '@nodepool/zk-protocol';
import type { NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchNodeRows, ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { knownNames, meantText } from '../connection/known-names.js';
import { checkFields, printValue, tableOf } from '../terminal/output.js';

/** `nodepool info`. */
export const command = defineCommand({
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  reads: true,
  parse: (values) => ({ provider: text(values, 'provider') ?? '' }),
  run: info,
});

interface ImageRow {
  readonly image: string;
  readonly buildId: string;
  readonly uploadIds: readonly string[];
}

const imageListing: Listing<ImageRow> = [
  { key: 'image', header: 'Image Name', level: 'brief', value: ({ image }) => image },
  { key: 'build_id', header: 'Build ID', level: 'brief', value: ({ buildId }) => buildId },
  { key: 'upload_ids', header: 'Upload IDs', level: 'brief', value: ({ uploadIds }) => [...uploadIds] },
];

const serverListing: Listing<NodeRecord> = [
  { key: 'id', header: 'ID', level: 'brief', value: ({ id }) => id },
  {
    key: 'server_id',
    header: 'Server ID',
    level: 'brief',
    value: ({ externalId }) => externalId,
    cell: ({ externalId }) => externalId ?? 'None',
  },
];

async function childrenOf(zk: ZooKeeper, path: string): Promise<string[]> {
  const children = (await ifPresent(zk.getChildren(path))) ?? [];
  return children.filter((name) => name !== 'lock');
}

async function fetchImageRow(zk: ZooKeeper, image: string, buildId: string, provider: string): Promise<ImageRow[]> {
  if (!(await zk.exists(buildProviderPath(image, buildId, provider)))) return [];
  return [{ image, buildId, uploadIds: (await childrenOf(zk, uploadsPath(image, buildId, provider))).sort() }];
}

async function fetchImageRows(zk: ZooKeeper, provider: string): Promise<ImageRow[]> {
  const images = (await childrenOf(zk, IMAGES_ROOT)).sort();
  const builds = await mapPipelined(images, async (image) =>
    (await childrenOf(zk, buildsPath(image))).map((buildId) => ({ image, buildId })),
  );
  return (
    await mapPipelined(builds.flat(), ({ image, buildId }) => fetchImageRow(zk, image, buildId, provider))
  ).flat();
}

/** `nodepool info`: what ZooKeeper holds about one provider. */
async function info(context: CliContext, args: { provider: string }): Promise<void> {
  const { provider } = args;
  const [images, rows, known] = await withZooKeeper(context, (zk) =>
    Promise.all([fetchImageRows(zk, provider), fetchNodeRows({ ...context, zk }), knownNames(context, zk, 'provider')]),
  );
  const nodes = rows.map(({ node }) => node).filter((node) => node.provider === provider);
  if (images.length + nodes.length === 0 && !known.includes(provider))
    inform(
      `nodepool: no launcher, record or configuration here has the provider ${provider}${meantText(provider, known)}`,
    );
  const nowMs = context.clock.now();
  const { fields } = context.options;
  checkFields(context, [imageListing, serverListing]);
  if (context.options.format !== 'table') {
    printValue(context, {
      provider,
      images: listingToObjects(imageListing, images, nowMs, fields),
      nodes: listingToObjects(serverListing, nodes, nowMs, fields),
    });
    return;
  }
  print(`ZooKeeper data for provider ${provider}\n\nImage data:\n${tableOf(context, imageListing, images)}`);
  print(`\nNodes:\n${tableOf(context, serverListing, nodes)}`);
}
