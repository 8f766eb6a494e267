import { expect, it } from 'vitest';
import { fakeDaemon, SIGNAL } from '../test/support/daemon.js';
import { readProviderConfig } from './config.js';
import { checkLabel } from './label-needs.js';

/** Checks a label of a provider with the project `ci`. */
async function check(own: Record<string, string | string[]>): Promise<void> {
  const config = readProviderConfig(
    {
      ...{ name: 'lab', driver: 'incus', project: 'ci' },
      'cloud-images': [{ name: 'debian' }, { name: 'missing' }, { name: 'remote', 'image-server': 'https://images' }],
      pools: [{ name: 'main', labels: [{ name: 'a', ...own }] }],
    },
    { labels: new Map(), diskimages: new Map(), problem: () => undefined },
  );
  const label = config.pools.get('main')?.labels.get('a');
  if (!label) throw new Error('there is no label');
  await checkLabel(label, config, fakeDaemon().client, SIGNAL);
}

it.each([
  [
    { 'cloud-image': 'missing' },
    'ImageMissing',
    'label "a": there is no image "missing" in the project "ci": import it',
  ],
  [
    { profiles: ['default', 'gpu'] },
    'ProfileMissing',
    'there is no profile "gpu" in the project "ci": correct "profiles"',
  ],
  [{ network: 'br9' }, 'NetworkMissing', 'there is no network "br9" in the project "ci": correct "network"'],
  [{ 'storage-pool': 'fast' }, 'StoragePoolMissing', 'there is no storage pool "fast": correct "storage-pool"'],
  [{ 'clone-from': 'golden/ready' }, 'SourceMissing', 'there is no instance or snapshot "golden/ready"'],
])('says what is missing: %o', async (own, reason, message) => {
  const found = check({ ...('clone-from' in own || 'cloud-image' in own ? {} : { 'cloud-image': 'debian' }), ...own });

  await expect(found).rejects.toMatchObject({ code: 'NODEPOOL_CONFIG', reason });
  await expect(found).rejects.toThrow(message);
});

it('finds nothing missing of a label whose image another server has', async () => {
  await expect(check({ 'cloud-image': 'remote', profiles: ['default'] })).resolves.toBeUndefined();
});
