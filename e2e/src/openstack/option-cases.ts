import { textOf } from '@nodepool/openstack';
import { describe, expect, it } from 'vitest';
import { OpenStackHarness, type PoolKeys } from './openstack-harness.js';

const PATIENCE_MS = 90_000;

/** Every option that real services can show. */
export function optionCases(get: () => OpenStackHarness): void {
  const oneNode = async (keys: PoolKeys) => {
    const zuul = await get().newClient();
    await get().launch(OpenStackHarness.setup(keys));
    const [node] = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
    if (!node) throw new Error('there is no node');
    const [server] = await get().servers();
    return { zuul, node, server: server ?? {} };
  };

  it('calls are counted under the names that dashboards read', async () => {
    const { zuul, node } = await oneNode({ pool: { networks: ['private'] } });
    await zuul.giveBack([node]);
    await get().assertClean(PATIENCE_MS);
    const names = [
      ...['identity.POST.auth_tokens.201', 'compute.GET.servers_detail.200', 'compute.GET.flavors_detail.200'],
      ...['compute.POST.servers.202', 'compute.DELETE.server.204', 'image.GET.images.200', 'network.GET.networks.200'],
      ...['network.GET.ports.200', 'network.GET.floatingips.200', 'network.POST.floatingips.201'],
      'network.DELETE.floatingip.204',
    ].map((name) => `nodepool.task.real.${name}`);

    const { counters, timers } = await get().statsd.waitFor((seen) => names.every((name) => seen.counters[name]));

    expect(names.filter((name) => timers[name] === undefined)).toEqual([]);
    expect(Object.keys(counters).filter((name) => /[0-9a-f]{8}-/.test(name))).toEqual([]); // no ids
    expect(await get().statsd.badLines()).toBe(0);
  }, 240_000);

  describe('options', () => {
    it('metadata, key pair, user data, server group, security group, config drive and zone reach the server', async () => {
      const label = {
        ...{
          'key-name': 'nodepool',
          userdata: '#cloud-config',
          'server-group': 'spread',
          'min-ram': 1_000,
          'flavor-name': 'm1.s',
        },
        'instance-properties': { team: 'infra' },
        'dynamic-instance-properties': { request: '{request.id}' },
      };
      const pool = { 'security-groups': ['default'], 'availability-zones': ['nova'] };
      const { zuul, node, server } = await oneNode({ label, pool });

      expect(server).toMatchObject({
        key_name: 'nodepool',
        'OS-EXT-AZ:availability_zone': 'nova',
        name: `np${node.id}`,
      });
      expect(server['metadata']).toMatchObject({
        ...{ team: 'infra', nodepool_node_id: node.id, nodepool_provider_name: 'real', nodepool_pool_name: 'main' },
        groups: 'real,test,small',
      });
      expect(node.body).toMatchObject({
        az: 'nova',
        cloud: 'nodepool',
        region: null, // the entry has no region-name
        host_keys: get().hostKeys,
      });
      expect(node.body['resources']).toMatchObject({ instances: 1, cores: 1, ram: 2_048 });
      await zuul.giveBack([node]);
    }, 180_000);

    it('boot from volume, with a type, leaves no volume', async () => {
      const label = { 'flavor-name': 'v1.small', 'boot-from-volume': true, 'volume-size': 3, 'volume-type': 'unreal' };
      const { zuul, node } = await oneNode({ label });
      const volumes = await get().api.list('cinder', `/v3/${await get().api.projectId()}/volumes/detail`, 'volumes');

      expect(volumes).toHaveLength(1);
      expect(volumes[0]).toMatchObject({ size: 3, volume_type: 'unreal', metadata: { nodepool_node_id: node.id } });
      expect(node.body['resources']).toMatchObject({ volumes: 1, 'volume-gb': 3 });
      await zuul.giveBack([node]);
    }, 180_000);

    it('a floating IP is made, marked, used and deleted', async () => {
      const { zuul, node } = await oneNode({ pool: { networks: ['private'], 'floating-ip-pool': 'floating' } });
      const [ip] = await get().api.list('neutron', '/v2.0/floatingips', 'floatingips');

      expect(node.body['public_ipv4']).toBe(ip?.['floating_ip_address']);
      expect(node.body['private_ipv4']).toMatch(/^127\.77\./);
      expect(textOf(ip?.['description'])).toContain(node.id);
      await zuul.giveBack([node]);
    }, 180_000);

    it('several networks are all connected', async () => {
      const { zuul, node, server } = await oneNode({ label: { networks: ['public', 'private'] } });

      expect(Object.keys(server['addresses'] as object).sort()).toEqual(['private', 'public']);
      expect(node.body['interface_ip']).toMatch(/^127\.7[79]\.|^127\.78\./);
      await zuul.giveBack([node]);
    }, 180_000);

    it('host keys come from the console, and other ones fail the launch', async () => {
      const [key = ''] = get().hostKeys;
      const print = (line: string) =>
        `boot\n-----BEGIN SSH HOST KEY KEYS-----\n${line} root@np\n-----END SSH HOST KEY KEYS-----\n`;
      await get().cloud.setFault('console-output', print(key));
      const { zuul, node } = await oneNode({
        label: { 'host-keys-from-console': true },
        entry: { 'launch-retries': 1 },
      });
      expect(node.body['host_keys']).toEqual([key]);
      await zuul.giveBack([node]);
      await get().cloud.setFault('console-output', print('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther'));

      const id = await zuul.submit(['small']);
      const { state } = await zuul.wait(id, PATIENCE_MS);
      await zuul.cancel(id);

      expect(state).toBe('failed');
    }, 240_000);
  });
}
