import { setTimeout as pause } from 'node:timers/promises';
import { textOf, type AdminApi, type ApiObject } from '@nodepool/openstack';

/** The APIs of a cloud, the real or the fake one. */
export type CallableApi = Pick<AdminApi, 'call' | 'list' | 'projectId'>;

/**
 * Makes every kind of call the driver makes, and keeps what is answered, with a server and what belongs to it.
 * In one piece: a list of calls, in the order in which they are made.
 */
export async function recordedCalls(api: CallableApi): Promise<Record<string, unknown>> {
  const recorded: Record<string, unknown> = {};
  const named = async (
    service: 'nova' | 'neutron' | 'glance',
    path: string,
    key: string,
    name: string,
  ): Promise<string> => textOf((await api.list(service, path, key)).find((one) => one['name'] === name)?.['id']);
  const projectId = await api.projectId();
  const uuid = await named('neutron', '/v2.0/networks', 'networks', 'private');
  const server = {
    ...{ name: 'recorded', metadata: { a: 'b' }, networks: [{ uuid }] },
    flavorRef: await named('nova', '/v2.1/flavors/detail', 'flavors', 'm1.tiny'),
    imageRef: await named('glance', '/v2/images', 'images', 'test-image'),
  };
  recorded['server-created'] = await api.call('nova', 'POST', '/v2.1/servers', { server });
  const id = textOf(((recorded['server-created'] as ApiObject)['server'] as ApiObject)['id']);
  recorded['server'] = await settled(api, 'nova', `/v2.1/servers/${id}`, 'server', 'ACTIVE');
  recorded['servers'] = await api.call('nova', 'GET', '/v2.1/servers/detail');
  recorded['console'] = await api.call('nova', 'POST', `/v2.1/servers/${id}/action`, { 'os-getConsoleOutput': {} });
  recorded['flavors'] = await api.call('nova', 'GET', '/v2.1/flavors/detail');
  recorded['zones'] = await api.call('nova', 'GET', '/v2.1/os-availability-zone');
  recorded['limits'] = await api.call('nova', 'GET', '/v2.1/limits');
  recorded['server-groups'] = await api.call('nova', 'GET', '/v2.1/os-server-groups');
  recorded['compute-version'] = await api.call('nova', 'GET', '/v2.1/');
  recorded['networks'] = await api.call('neutron', 'GET', '/v2.0/networks');
  recorded['subnets'] = await api.call('neutron', 'GET', '/v2.0/subnets');
  recorded['ports'] = await api.call('neutron', 'GET', `/v2.0/ports?device_id=${id}`);
  recorded['network-quota'] = await api.call('neutron', 'GET', `/v2.0/quotas/${projectId}/details.json`);
  const floating_network_id = await named('neutron', '/v2.0/networks', 'networks', 'floating');
  const [port] = await api.list('neutron', `/v2.0/ports?device_id=${id}`, 'ports');
  const floatingip = { floating_network_id, port_id: textOf(port?.['id']), description: 'recorded' };
  recorded['floating-ip'] = await api.call('neutron', 'POST', '/v2.0/floatingips', { floatingip });
  recorded['floating-ips'] = await api.call('neutron', 'GET', '/v2.0/floatingips');
  recorded['images'] = await api.call('glance', 'GET', '/v2/images');
  const volume = { volume: { size: 1, metadata: { a: 'b' } } };
  const made = await api.call('cinder', 'POST', `/v3/${projectId}/volumes`, volume);
  const volumeId = textOf((made['volume'] as ApiObject)['id']);
  await settled(api, 'cinder', `/v3/${projectId}/volumes/${volumeId}`, 'volume', 'available'); // it has a time of its change from then on
  recorded['volumes'] = await api.call('cinder', 'GET', `/v3/${projectId}/volumes/detail`);
  recorded['volume-limits'] = await api.call('cinder', 'GET', `/v3/${projectId}/limits`);
  await pause(1_500);
  const ip = (recorded['floating-ip'] as ApiObject)['floatingip'] as ApiObject;
  await api.call('neutron', 'DELETE', `/v2.0/floatingips/${textOf(ip['id'])}`);
  await api.call('cinder', 'DELETE', `/v3/${projectId}/volumes/${volumeId}`);
  await api.call('nova', 'DELETE', `/v2.1/servers/${id}`);
  return recorded;
}

/** Reads an object until it has this status. */
async function settled(
  api: CallableApi,
  service: 'nova' | 'cinder',
  path: string,
  key: string,
  status: string,
): Promise<ApiObject> {
  for (;;) {
    const answer = await api.call(service, 'GET', path);
    if ((answer[key] as ApiObject)['status'] === status) return answer;
    await pause(500);
  }
}
