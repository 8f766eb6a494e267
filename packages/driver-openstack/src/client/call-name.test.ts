import { describe, expect, it } from 'vitest';
import { callName } from './call-name.js';

const ID = '3f2a6c1e-8f3f-4a63-9f55-0b7b6a0f4d1e';

describe('the name of a call', () => {
  it.each([
    ['compute', 'GET', '/servers/detail', 'compute.GET.servers_detail'],
    ['compute', 'POST', '/servers', 'compute.POST.servers'],
    ['compute', 'DELETE', `/servers/${ID}`, 'compute.DELETE.server'],
    ['compute', 'POST', `/servers/${ID}/action`, 'compute.POST.server_action'],
    ['compute', 'GET', '/', 'compute.GET.discovery'],
    ['network', 'GET', '/ports', 'network.GET.ports'],
    ['network', 'DELETE', `/floatingips/${ID}`, 'network.DELETE.floatingip'],
    ['network', 'GET', `/quotas/${ID.replaceAll('-', '')}/details.json`, 'network.GET.quota_details'],
    ['image', 'PUT', `/images/${ID}/file`, 'image.PUT.image_file'],
    ['volume', 'GET', '/volumes/detail?limit=3', 'block-storage.GET.volumes_detail'],
  ] as const)('%s %s %s is %s', (service, method, path, name) => {
    expect(callName(service, method, path)).toBe(name);
  });
});
