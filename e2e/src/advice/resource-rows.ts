import type { AdviceWorld } from './advice-world.js';
import type { Row } from './row.js';

const DATABASE_ID = 'nodepool_database_id';
const ID = 'f0f0f0f0-0000-4000-8000-00000000000';

/** Leaves a server in the cloud as one of the provider, with other tags. @returns its id */
async function leave(world: AdviceWorld, digit: number, tags: Record<string, unknown>): Promise<string> {
  const { servers } = world.cloud.state;
  await world.configure({ top: { 'min-ready': 1 } });
  const like = servers.get((await world.readyNode()).server);
  if (!like) throw new Error('the node on standby has no server');
  const metadata: Record<string, unknown> = { ...like.metadata, nodepool_node_id: `009999999${digit}`, ...tags };
  for (const [tag, value] of Object.entries(metadata)) if (value === undefined) Reflect.deleteProperty(metadata, tag);
  servers.set(`${ID}${digit}`, { ...like, id: `${ID}${digit}`, metadata });
  return `${ID}${digit}`;
}

/** Conditions of machines without a record. */
export const RESOURCE_ROWS: readonly Row[] = [
  {
    ...{ type: 'ResourcesWithoutProof', reason: 'NoDatabaseId', advice: /^nodepool (adopt sky)$/ },
    begin: (world) => leave(world, 1, { [DATABASE_ID]: undefined }),
    follow: (world) => world.nodepool(['adopt', 'sky', '--yes']),
    end: (world) => world.configure(),
  },
  {
    ...{ type: 'ResourcesOfOtherDatabase', reason: 'OtherDatabase', advice: /"nodepool adopt sky --force" would/ },
    begin: (world) => leave(world, 2, { [DATABASE_ID]: 'of-another-one' }),
    follow: (world) => world.nodepool(['adopt', 'sky', '--force', '--yes']),
    end: (world) => world.configure(),
  },
];
