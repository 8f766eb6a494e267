import { describe, expect, it } from 'vitest';
import type { DiskimageConfig } from '../../contract/config.js';
import { readStateMachineProvider } from './read-config.js';
import { STATE_MACHINE_SCHEMAS } from './schemas.js';

const entry = {
  name: 'cloud',
  rate: 0.5,
  diskimages: [{ name: 'built', 'connection-type': 'winrm' }],
  pools: [
    {
      name: 'main',
      'max-cores': 40,
      'max-ram': -1,
      'max-volumes': 8,
      'max-volume-gb': 400,
      'ignore-provider-quota': true,
      labels: [{ name: 'small', diskimage: 'built' }],
    },
  ],
};
const built = { username: 'builder', pythonPath: '/usr/bin/python3', shellType: undefined } as DiskimageConfig;

describe('what state-machine drivers read alike', () => {
  it('has all limits of a pool; -1 is none', () => {
    const main = readStateMachineProvider(entry, { driverName: 'x' }).pools.get('main');

    expect(main?.maxResources).toEqual({ cores: 40, volumes: 8, 'volume-gb': 400 });
    expect(main?.ignoreProviderQuota).toBe(true);
  });

  it('has no limit of volumes with 0, as the original has it', () => {
    const pools = [{ name: 'main', 'max-cores': 0, 'max-volumes': 0, 'max-volume-gb': 0, labels: [] }];
    const main = readStateMachineProvider({ ...entry, pools }, { driverName: 'x' }).pools.get('main');

    expect(main?.maxResources).toEqual({ cores: 0 });
  });

  it('says what builders upload, to drivers that manage images', () => {
    const file = {
      ...entry,
      'image-name-format': 'ci-{image_name}',
      diskimages: [{ name: 'built', pause: true, meta: { os: 'linux', cores: 4, kvm: true } }],
    };
    const images = readStateMachineProvider(file, { driverName: 'x', managesImages: true, imageFormat: 'raw' }).images;

    expect(readStateMachineProvider(file, { driverName: 'x' }).images).toBeUndefined();
    expect(images).toEqual({
      format: 'raw',
      nameFormat: 'ci-{image_name}',
      uploadTimeoutMs: 3_600_000,
      postUploadHook: undefined,
      diskimages: new Map([
        ['built', { name: 'built', pause: true, metadata: { os: 'linux', cores: '4', kvm: 'True' } }],
      ]),
    });
  });

  it('has managed images, with login data of the uploads unless the driver wants that of the file', () => {
    const plain = readStateMachineProvider(entry, { driverName: 'x' });
    const managing = readStateMachineProvider(entry, {
      driverName: 'x',
      managesImages: true,
      diskimages: new Map([['built', built]]),
    });

    const image = { name: 'built', connectionType: 'winrm', connectionPort: 5986 };
    expect(plain.pools.get('main')?.labels.get('small')?.diskimage).toBe('built');
    expect([plain.managesImages, plain.diskimages.get('built')]).toEqual([false, image]);
    expect([managing.managesImages, managing.diskimages.get('built')]).toEqual([
      true,
      { ...image, username: 'builder', pythonPath: '/usr/bin/python3', shellType: null },
    ]);
  });

  it.each([
    ['calls-per-second', 0.5, 0.5],
    ['seconds-between-calls', 0.5, 2],
    ['seconds-between-calls', 0, undefined],
  ] as const)('takes a rate in %s: %d', (rate, value, expected) => {
    const config = readStateMachineProvider({ ...entry, rate: value }, { driverName: 'x', rate });

    expect(config.requestsPerSecond).toBe(expected);
  });

  it('has a schema for each key that is read', () => {
    const { pool, diskimage, diskimageLabel } = STATE_MACHINE_SCHEMAS;

    expect(Object.keys(pool)).toEqual(expect.arrayContaining(Object.keys(entry.pools[0] ?? {}).slice(0, -1)));
    expect(Object.keys(diskimage)).toEqual(expect.arrayContaining(Object.keys(entry.diskimages[0] ?? {})));
    expect(Object.keys(diskimageLabel)).toEqual(['diskimage']);
  });
});
