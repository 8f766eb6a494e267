import { AdminApi, type ApiObject } from './admin-api.js';
import { PASSWORDS, urlOf, type Site } from './site.js';

/** Limits of the project, by service. */
export const QUOTA = {
  nova: { instances: 120, cores: 240, ram: 512 * 1024 },
  neutron: { port: 500, floatingip: 50, network: 20, subnet: 20, security_group: 50 },
  cinder: { volumes: 100, gigabytes: 4_000 },
} as const;

/** Name of a limit. */
export type QuotaName = 'instances' | 'cores' | 'ram' | 'port' | 'floatingip' | 'volumes' | 'gigabytes';

const FLAVORS = [
  { name: 'm1.tiny', vcpus: 1, ram: 512, disk: 1 },
  { name: 'm1.small', vcpus: 1, ram: 2_048, disk: 20 },
  { name: 'm1.large', vcpus: 4, ram: 8_192, disk: 80 },
  // too large for the host but within every quota, as none counts disks
  { name: 'm1.impossible', vcpus: 1, ram: 2_048, disk: 1_000_000 },
  { name: 'v1.small', vcpus: 1, ram: 2_048, disk: 0 },
];

/** Creates services, users and the project. */
export async function provisionIdentity(site: Site): Promise<void> {
  const api = new AdminApi(site);
  const endpoints: Record<string, [type: string, url: string]> = {
    nova: ['compute', urlOf(site, 'nova', '/v2.1')],
    glance: ['image', urlOf(site, 'glance')],
    neutron: ['network', urlOf(site, 'neutron')],
    placement: ['placement', urlOf(site, 'placement')],
    cinder: ['volumev3', urlOf(site, 'cinder', '/v3/%(project_id)s')],
  };
  for (const [name, [type, url]] of Object.entries(endpoints)) {
    const { service } = await api.call('keystone', 'POST', '/v3/services', { service: { name, type } });
    for (const side of ['public', 'internal']) {
      const endpoint = { service_id: idOf(service), interface: side, url, region_id: 'RegionOne' };
      await api.call('keystone', 'POST', '/v3/endpoints', { endpoint });
    }
  }
  const roles = new Map(
    (await api.list('keystone', '/v3/roles', 'roles')).map((role) => [textOf(role['name']), idOf(role)]),
  );
  for (const name of ['service', 'member']) {
    if (!roles.has(name))
      roles.set(name, idOf((await api.call('keystone', 'POST', '/v3/roles', { role: { name } }))['role']));
  }
  const project = async (name: string): Promise<string> =>
    idOf((await api.call('keystone', 'POST', '/v3/projects', { project: { name, domain_id: 'default' } }))['project']);
  const user = async (name: string, password: string, projectId: string, granted: string[]): Promise<void> => {
    const order = { user: { name, password, domain_id: 'default' } };
    const userId = idOf((await api.call('keystone', 'POST', '/v3/users', order))['user']);
    for (const role of granted) {
      await api.call('keystone', 'PUT', `/v3/projects/${projectId}/users/${userId}/roles/${roles.get(role) ?? ''}`);
    }
  };
  const services = await project('service');
  for (const name of Object.keys(endpoints)) await user(name, PASSWORDS.service, services, ['admin', 'service']);
  await user('nodepool', PASSWORDS.user, await project('nodepool'), ['member']);
}

/** Creates networks, flavors, an image, a key pair and quotas. */
export async function provisionResources(site: Site): Promise<void> {
  const admin = new AdminApi(site);
  const own = new AdminApi(site, 'nodepool');
  await networks(admin, own);
  for (const flavor of FLAVORS) await admin.call('nova', 'POST', '/v2.1/flavors', { flavor });
  const type = { name: 'unreal', extra_specs: { volume_backend_name: 'unreal' } };
  await admin.call('cinder', 'POST', `/v3/${await admin.projectId()}/types`, { volume_type: type });
  await setQuota(site, { ...QUOTA.nova, ...QUOTA.neutron, ...QUOTA.cinder });
  await image(own);
  await own.call('nova', 'POST', '/v2.1/os-keypairs', { keypair: { name: 'nodepool' } });
  await own.call(
    'nova',
    'POST',
    '/v2.1/os-server-groups',
    { server_group: { name: 'spread', policies: ['soft-anti-affinity'] } },
    { 'openstack-api-version': 'compute 2.15' },
  );
}

/** Changes limits of the project. */
export async function setQuota(site: Site, wanted: Partial<Record<string, number>>): Promise<void> {
  const admin = new AdminApi(site);
  const projectId = await new AdminApi(site, 'nodepool').projectId();
  const of = (names: object): ApiObject =>
    Object.fromEntries(
      Object.entries(wanted).flatMap(([name, value]) => (name in names && value !== undefined ? [[name, value]] : [])),
    );
  const [nova, neutron, cinder] = [of(QUOTA.nova), of(QUOTA.neutron), of(QUOTA.cinder)];
  if (Object.keys(nova).length > 0) {
    await admin.call('nova', 'PUT', `/v2.1/os-quota-sets/${projectId}`, { quota_set: { ...nova, force: true } });
  }
  if (Object.keys(neutron).length > 0)
    await admin.call('neutron', 'PUT', `/v2.0/quotas/${projectId}`, { quota: neutron });
  if (Object.keys(cinder).length > 0) {
    const path = `/v3/${await admin.projectId()}/os-quota-sets/${projectId}`;
    await admin.call('cinder', 'PUT', path, { quota_set: cinder });
  }
}

async function networks(admin: AdminApi, own: AdminApi): Promise<void> {
  const project_id = await own.projectId();
  // addresses in 127.0.0.0/8: connections to a server stay on this machine and can reach an sshd
  const privateId = await network(admin, { name: 'private', project_id }, ['127.77.0.0/20']);
  await network(admin, { name: 'public', shared: true }, ['127.78.0.0/20']);
  const outside = { 'router:external': true, 'provider:network_type': 'flat', 'provider:physical_network': 'outside' };
  const floatingId = await network(admin, { name: 'floating', ...outside }, ['127.79.0.0/20']);
  const gateway = { network_id: floatingId };
  const order = { router: { name: 'router', project_id, external_gateway_info: gateway } };
  const router = idOf((await admin.call('neutron', 'POST', '/v2.0/routers', order))['router']);
  const [subnet] = await admin.list('neutron', `/v2.0/subnets?network_id=${privateId}`, 'subnets');
  await admin.call('neutron', 'PUT', `/v2.0/routers/${router}/add_router_interface`, { subnet_id: idOf(subnet) });
}

async function network(admin: AdminApi, attributes: ApiObject, cidrs: readonly string[]): Promise<string> {
  const made = (await admin.call('neutron', 'POST', '/v2.0/networks', { network: attributes }))['network'] as ApiObject;
  for (const cidr of cidrs) {
    // Neutron accepts a loopback range only without DHCP
    const subnet = {
      network_id: idOf(made),
      cidr,
      ip_version: 4,
      enable_dhcp: false,
      project_id: made['project_id'] ?? '',
    };
    await admin.call('neutron', 'POST', '/v2.0/subnets', { subnet });
  }
  return idOf(made);
}

async function image(own: AdminApi): Promise<void> {
  const order = { name: 'test-image', disk_format: 'raw', container_format: 'bare', min_disk: 0 };
  const id = idOf(await own.call('glance', 'POST', '/v2/images', order));
  await own.putFile(`/v2/images/${id}/file`, new Uint8Array(65_536));
}

function idOf(object: unknown): string {
  return textOf((object as ApiObject)['id']);
}

function textOf(value: ApiObject[string] | undefined): string {
  if (typeof value !== 'string') throw new Error('a response of the cloud lacks a string');
  return value;
}
