import { newUpload } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { fieldsOfInstance, imageOfLabel } from './node-fields.js';
import type { StateMachineLabelConfig, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

const INSTANCE = { externalId: 'i1', ready: true, deleted: false, interfaceIp: '203.0.113.7', metadata: {} };
const POOL = { useInternalIp: true, nodeAttributes: { zone: 'pool' } } as unknown as StateMachinePoolConfig;
const NO_IMAGE = { fields: {} };
const upload = { image: 'debian', buildId: 'b', provider: 'sky', id: '0000000001' };
const config = {
  ...{ name: 'sky', managesImages: true, cloudImages: new Map() },
  diskimages: new Map([['debian', { connectionPort: 2222 }]]),
} as unknown as StateMachineProviderConfig;

it('uses the private address if the pool requests it and it exists', () => {
  expect(fieldsOfInstance({ ...INSTANCE, privateIpv4: '10.0.0.7' }, POOL, NO_IMAGE).interfaceIp).toBe('10.0.0.7');
  expect(fieldsOfInstance(INSTANCE, POOL, NO_IMAGE).interfaceIp).toBe('203.0.113.7');
});

it('refuses an instance without an address, unless its connection needs none', () => {
  const unreachable = { ...INSTANCE, interfaceIp: null };

  expect(() => fieldsOfInstance(unreachable, POOL, NO_IMAGE)).toThrow(/instance i1 has no address: check the networks/);
  expect(fieldsOfInstance(unreachable, POOL, { fields: { connectionType: 'namespace' } }).interfaceIp).toBeNull();
});

it('counts one instance unless the driver reports more; attributes of the pool take precedence', () => {
  const fields = fieldsOfInstance({ ...INSTANCE, nodeAttributes: { zone: 'own', rack: 1 } }, POOL, NO_IMAGE);

  expect(fields).toMatchObject({ resources: { instances: 1 }, attributes: { zone: 'pool', rack: 1 } });
});

it('has no image while an upload is missing, and takes login data from the upload and its port from the provider', () => {
  const label = { name: 'small', diskimage: 'debian' } as StateMachineLabelConfig;
  const ready = { ...newUpload(upload, { state: 'ready', externalId: 'image-1' }, 0), username: 'zuul' };

  expect(imageOfLabel(config, label, { newestUpload: () => undefined })).toBeUndefined();
  expect(imageOfLabel(config, label, { newestUpload: () => ready })).toMatchObject({
    ...{ name: 'debian', externalId: 'image-1' },
    fields: { username: 'zuul', connectionPort: 2222 },
  });
});
