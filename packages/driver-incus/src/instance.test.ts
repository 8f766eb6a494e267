import { expect, it } from 'vitest';
import type { ApiInstance } from './api.js';
import { isBroken, toInstance } from './instance.js';
import { asKeys } from './ownership.js';

const address = (family: string, text: string, scope = 'global') => ({ family, address: text, scope });
const shown: ApiInstance = {
  ...{
    name: 'np1-aaaaaa',
    type: 'container',
    status: 'Running',
    location: 'none',
    created_at: '2026-11-24T13:59:32.17Z',
  },
  config: { ...asKeys({ nodepool_node_id: '1' }), 'volatile.eth0.hwaddr': '00:16:3e:4a:dc:6e' },
  expanded_config: { 'limits.cpu': '2', 'limits.memory': '1GiB' },
  expanded_devices: { eth0: { type: 'nic', network: 'br0' }, root: { type: 'disk', path: '/', size: '5GiB' } },
  state: {
    network: {
      docker0: { hwaddr: '02:42:ac:11:00:01', addresses: [address('inet', '172.17.0.1')] },
      eth0: {
        hwaddr: '00:16:3e:4a:dc:6e',
        addresses: [address('inet', '10.0.0.5'), address('inet6', 'fe80::1', 'link'), address('inet6', 'fd00::5')],
      },
      lo: { hwaddr: '', addresses: [address('inet', '127.0.0.1', 'local')] },
    },
  },
};

it('has the global addresses of its network devices, and not those of bridges inside', () => {
  expect(toInstance(shown, 'LXD')).toMatchObject({
    ...{
      externalId: 'np1-aaaaaa',
      ready: true,
      interfaceIp: '10.0.0.5',
      publicIpv6: 'fd00::5',
      cloud: 'LXD',
      az: null,
    },
    metadata: { nodepool_node_id: '1' },
    resources: { instances: 1, cores: 2, ram: 1_024, 'disk-gb': 5 },
    createdMs: Date.parse('2026-11-24T13:59:32.17Z'),
  });
});

it('finds the interface by name while the server does not know its hardware address', () => {
  const config = {};

  expect(toInstance({ ...shown, config }, 'LXD').interfaceIp).toBe('10.0.0.5');
});

it('is not ready without an address or while it does not run', () => {
  expect(toInstance({ ...shown, state: { network: {} } }, 'LXD').ready).toBe(false);
  expect(toInstance({ ...shown, state: null }, 'LXD').ready).toBe(false);
  expect(toInstance({ ...shown, status: 'Stopped' }, 'LXD').ready).toBe(false);
});

it('is in the zone of its cluster member', () => {
  expect(toInstance({ ...shown, location: 'server2' }, 'Incus').az).toBe('server2');
});

it('is broken when it stopped or failed', () => {
  expect(['Stopped', 'Error', 'Running', 'Starting'].map((status) => isBroken({ status }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
