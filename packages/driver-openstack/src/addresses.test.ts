import { describe, expect, it } from 'vitest';
import { chooseAddresses, needsFloatingIp, networkView } from './addresses.js';
import type { CloudSettings } from './client/clouds/types.js';
import type { ServerAddress } from './client/compute.js';
import type { Network } from './client/network.js';

/** A network as a project sees one of the provider: what it is a piece of is shown to administrators alone. */
const PROVIDER_NETWORK: Network = {
  ...{ id: 'net-1', name: 'vlan-7', isExternal: false, isShared: true, hasPhysicalNetwork: false, subnetIds: [] },
};
const FLOATING: Network = { ...PROVIDER_NETWORK, id: 'net-2', name: 'floating', isExternal: true };
const SETTINGS = {
  ...{ useExternalNetwork: true, useInternalNetwork: true, forceIpv4: false, isPrivate: false },
  floatingIpSource: 'neutron',
} as CloudSettings;

const at = (address: string, network = 'vlan-7'): ServerAddress => ({
  ...{ network, address, version: address.includes(':') ? 6 : 4, type: 'fixed', mac: 'fa:16:3e:00:00:01' },
});
const server = (...addresses: ServerAddress[]) => ({ addresses, accessIpv4: undefined, accessIpv6: undefined });

describe('a server in a provider network that is not router:external', () => {
  const view = networkView([PROVIDER_NETWORK, FLOATING], [], []);

  it.each([
    ['a global address', '8.8.4.4', true],
    ['a shared address of carriers', '100.64.1.1', true],
    ['a private address', '10.1.2.3', false],
  ])('is reached by %s as the original reaches it', (_what, address, isPublic) => {
    const chosen = chooseAddresses(server(at(address)), view, SETTINGS, false);

    expect(chosen.publicIpv4).toBe(isPublic ? address : undefined);
    expect(chosen.interfaceIp).toBe(address);
    expect(needsFloatingIp(server(at(address)), view, SETTINGS)).toBe(!isPublic);
  });
});

describe('the default interface', () => {
  const hint = {
    routesIpv4Externally: undefined,
    routesIpv6Externally: undefined,
    natDestination: false,
    natSource: false,
  };
  const view = networkView([PROVIDER_NETWORK], [], [{ ...hint, name: 'vlan-7', defaultInterface: true }]);
  const both = server(at('10.1.2.3'), at('2001:db8::1'));

  it.each([
    ['IPv6 where this computer has it', true, false, '2001:db8::1'],
    ['IPv4 where it has not', false, false, '10.1.2.3'],
    ['IPv4 with force_ipv4', true, true, '10.1.2.3'],
  ])('is %s', (_what, hasIpv6, forceIpv4, address) => {
    const { interfaceIp } = chooseAddresses(both, view, { ...SETTINGS, forceIpv4 }, hasIpv6);

    expect(interfaceIp).toBe(address);
  });
});
