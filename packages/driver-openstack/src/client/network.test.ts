import { describe, expect, it } from 'vitest';
import { clientOf } from '../../test/support/recorded.js';

const NEVER = new AbortController().signal;

describe('the network service', () => {
  it('reads ports, floating IPs, networks and limits', async () => {
    const [port] = await clientOf('ports').network.ports({}, NEVER);
    const [ip] = await clientOf('floating-ips').network.floatingIps(NEVER);
    const networks = await clientOf('networks').network.networks(NEVER);
    const limits = await clientOf('limits').compute.limits(NEVER);
    const { ports } = await clientOf('network-quota').network.limits('p', NEVER);

    expect(port).toMatchObject({ deviceOwner: 'compute:nova', status: 'ACTIVE' });
    expect(ip).toMatchObject({
      description: 'recorded',
      portId: expect.any(String) as unknown,
      revision: expect.any(Number) as unknown,
    });
    expect(networks.filter(({ isExternal }) => isExternal).map(({ name }) => name)).toEqual(['floating']);
    expect(limits).toEqual({ instances: 120, cores: 240, ramMib: 524_288 });
    expect(ports).toMatchObject({ limit: 500 });
  });
});
