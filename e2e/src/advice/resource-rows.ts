import {
  buildPath,
  encodeBuild,
  encodeUpload,
  newBuild,
  newUpload,
  uploadPath,
  uploadsPath,
} from '@nodepool/zk-protocol';
import type { AdviceWorld } from './advice-world.js';
import type { Row } from './row.js';

const IMAGE = 'fedora';
const BUILD = 'b'.repeat(32);
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

const LEAKED = 3;
const UNDELETABLE = 4;
/** Long enough to be seen, and too short for calls without an answer. */
const SLOW_DELETION_MS = 12_000;

/** An image that no builder has made, until there is an upload of it. */
const IMAGE_MISSING: Row = {
  ...{ type: 'NotServed', reason: 'ImageMissing', advice: /^build or upload the image of the label$/ },
  begin: (world) =>
    world.configure({
      label: { 'cloud-image': undefined, diskimage: IMAGE },
      provider: { diskimages: [{ name: IMAGE }] },
      more: { diskimages: [{ name: IMAGE, elements: ['vm'] }] },
    }),
  async follow({ cloud, zk }) {
    const key = { image: IMAGE, buildId: BUILD, provider: 'sky', id: '0000000000' };
    const build = newBuild({ image: IMAGE, id: BUILD }, { state: 'ready', formats: ['qcow2'] }, Date.now());
    const at = { externalId: cloud.state.addImage(IMAGE).id, externalName: IMAGE };
    await zk.ensurePath(uploadsPath(IMAGE, BUILD, key.provider));
    await zk.setData(buildPath(IMAGE, BUILD), encodeBuild(build));
    const upload = encodeUpload(newUpload(key, { state: 'ready', ...at }, Date.now()));
    await zk.create(uploadPath(IMAGE, BUILD, key.provider, key.id), upload);
  },
  async end(world) {
    await world.configure();
    await world.zk.deleteRecursive(buildPath(IMAGE, BUILD));
  },
};

/** Conditions of images without an upload, and of machines without a record. */
export const RESOURCE_ROWS: readonly Row[] = [
  IMAGE_MISSING,
  {
    ...{ type: 'ResourcesLeaked', reason: 'NoRecord', advice: /^$/ },
    begin(world) {
      world.cloud.faults.push({ method: 'DELETE', path: new RegExp(`${ID}${LEAKED}`), delayMs: SLOW_DELETION_MS });
      return leave(world, LEAKED, {});
    },
    follow: () => undefined, // it is being deleted
    end(world) {
      world.cloud.faults.length = 0;
      return world.configure();
    },
  },
  {
    ...{ type: 'ResourcesLeaked', reason: 'DeletionFails', advice: /^delete them with the tools of the cloud$/ },
    begin(world) {
      world.cloud.faults.push({ method: 'DELETE', path: new RegExp(`${ID}${UNDELETABLE}`), status: 403 });
      return leave(world, UNDELETABLE, {});
    },
    follow: ({ cloud }) => void cloud.state.servers.delete(`${ID}${UNDELETABLE}`),
    end(world) {
      world.cloud.faults.length = 0;
      return world.configure();
    },
  },
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
