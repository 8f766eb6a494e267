import { at, PASSWORDS, urlOf, type Site } from './site.js';
import { iniText, type Ini } from './ini.js';

/** All configuration files of the services, by path in the directory of the cloud. */
export function configFiles(site: Site): Record<string, string> {
  return {
    'etc/mariadb.cnf': mariadb(site),
    'etc/rabbitmq.conf': rabbitmq(site),
    'etc/rabbitmq-plugins': '[].\n',
    'etc/keystone/keystone.conf': iniText(keystone(site)),
    'etc/placement/placement.conf': iniText(placement(site)),
    'etc/glance/glance-api.conf': iniText(glance(site)),
    'etc/glance/paste.ini': glancePaste(),
    'etc/neutron/neutron.conf': iniText(neutron(site)),
    'etc/neutron/paste.ini': neutronPaste(),
    'etc/nova/nova.conf': iniText(nova(site)),
    'etc/nova/paste.ini': novaPaste(),
    'etc/cinder/cinder.conf': iniText(cinder(site)),
    'etc/cinder/paste.ini': cinderPaste(),
    'etc/cinder/resource_filters.json': '{}\n',
    // Neutron finds mechanism drivers by the entry points of installed packages
    'python/unreal-1.0.egg-info/PKG-INFO': 'Metadata-Version: 2.1\nName: unreal\nVersion: 1.0\n',
    'python/unreal-1.0.egg-info/entry_points.txt':
      '[neutron.ml2.mechanism_drivers]\nunreal = unreal_neutron:UnrealMechanismDriver\n',
  };
}

/** Address of a database. */
export function databaseUrl(site: Site, name: string): string {
  return `mysql+pymysql://openstack:${PASSWORDS.database}@127.0.0.1:${site.ports.mariadb}/${name}?charset=utf8`;
}

function mariadb(site: Site): string {
  return iniText({
    mysqld: {
      ...{
        datadir: at(site, 'mariadb'),
        socket: at(site, 'run/mariadb.sock'),
        'pid-file': at(site, 'mariadb/own.pid'),
      },
      ...{ tmpdir: at(site, 'tmp'), 'bind-address': '127.0.0.1', port: site.ports.mariadb, max_connections: 600 },
      ...{ 'character-set-server': 'utf8mb3', 'collation-server': 'utf8mb3_general_ci', performance_schema: 'off' },
      // durability is not needed
      ...{ innodb_flush_log_at_trx_commit: 0, innodb_flush_method: 'nosync', innodb_doublewrite: 0 },
      ...{ innodb_buffer_pool_size: '192M', innodb_log_file_size: '64M', key_buffer_size: '1M' },
    },
  }).replace('port = ', 'skip-name-resolve\nskip-log-bin\nport = ');
}

function rabbitmq({ ports }: Site): string {
  return [
    `listeners.tcp.1 = 127.0.0.1:${ports.rabbit}`,
    'default_user = openstack',
    `default_pass = ${PASSWORDS.broker}`,
    'loopback_users = none',
    'log.console = true',
    'log.console.level = warning',
    'disk_free_limit.absolute = 50MB',
    '',
  ].join('\n');
}

function common(site: Site): Ini[string] {
  const transport_url = `rabbit://openstack:${PASSWORDS.broker}@127.0.0.1:${site.ports.rabbit}/`;
  return { use_stderr: true, transport_url, rpc_response_timeout: 60 };
}

function database(site: Site, name: string): Ini[string] {
  return { connection: databaseUrl(site, name), max_pool_size: 20, max_overflow: 70 };
}

function credentials(site: Site, user: string): Ini[string] {
  return {
    ...{ auth_type: 'password', auth_url: urlOf(site, 'keystone', '/v3'), username: user, password: PASSWORDS.service },
    ...{
      project_name: 'service',
      user_domain_name: 'Default',
      project_domain_name: 'Default',
      region_name: 'RegionOne',
    },
  };
}

function shared(site: Site, user: string): Ini {
  return {
    keystone_authtoken: {
      ...{ www_authenticate_uri: urlOf(site, 'keystone', '/v3'), interface: 'public', token_cache_time: 5 },
      ...{ service_token_roles: 'service', service_token_roles_required: true, ...credentials(site, user) },
    },
    service_user: { send_service_user_token: true, ...credentials(site, user) },
    ...messaging(site, user),
  };
}

function messaging(site: Site, name: string): Ini {
  return {
    oslo_messaging_notifications: { driver: 'noop' },
    oslo_concurrency: { lock_path: at(site, 'lock', name) },
    oslo_policy: { policy_file: 'none.yaml', policy_dirs: 'none.d' },
  };
}

function keystone(site: Site): Ini {
  return {
    DEFAULT: { ...common(site), public_endpoint: urlOf(site, 'keystone') },
    database: database(site, 'keystone'),
    ...messaging(site, 'keystone'),
    token: { provider: 'fernet', expiration: site.tokenSeconds, allow_expired_window: 3600 },
    fernet_tokens: { key_repository: at(site, 'keystone/fernet-keys') },
    credential: { key_repository: at(site, 'keystone/credential-keys') },
    // one process serves all requests, so a cache in memory is consistent; without one a token takes half a second
    cache: { enabled: true, backend: 'oslo_cache.dict', expiration_time: 600 },
    identity: { password_hash_rounds: 4 },
  };
}

function placement(site: Site): Ini {
  return {
    DEFAULT: { use_stderr: true },
    api: { auth_strategy: 'keystone' },
    placement_database: database(site, 'placement'),
    ...shared(site, 'placement'),
  };
}

function glance(site: Site): Ini {
  return {
    DEFAULT: {
      ...{ ...common(site), bind_host: '127.0.0.1', bind_port: site.ports.glance, workers: 0 },
      ...{ enabled_backends: 'files:file', node_staging_uri: `file://${at(site, 'glance/staging')}` },
      ...{ image_cache_dir: at(site, 'glance/cache'), worker_self_reference_url: urlOf(site, 'glance') },
    },
    database: database(site, 'glance'),
    glance_store: { default_backend: 'files' },
    files: { filesystem_store_datadir: at(site, 'glance/images') },
    os_glance_staging_store: { filesystem_store_datadir: at(site, 'glance/staging') },
    os_glance_tasks_store: { filesystem_store_datadir: at(site, 'glance/tasks') },
    paste_deploy: { flavor: 'keystone', config_file: at(site, 'etc/glance/paste.ini') },
    ...shared(site, 'glance'),
  };
}

function neutron(site: Site): Ini {
  return {
    DEFAULT: {
      ...{ ...common(site), bind_host: '127.0.0.1', bind_port: site.ports.neutron, auth_strategy: 'keystone' },
      ...{ api_paste_config: at(site, 'etc/neutron/paste.ini'), state_path: at(site, 'neutron'), core_plugin: 'ml2' },
      ...{ service_plugins: 'unreal_neutron.UnrealL3Plugin,revisions,tag,timestamp', api_workers: 0, rpc_workers: 1 },
      ...{ rpc_state_report_workers: 0, dhcp_agent_notification: false, send_events_interval: 1 },
      ...{ notify_nova_on_port_status_changes: true, notify_nova_on_port_data_changes: true },
    },
    database: database(site, 'neutron'),
    ml2: {
      ...{ type_drivers: 'flat,vxlan', tenant_network_types: 'vxlan', mechanism_drivers: 'unreal' },
      extension_drivers: 'port_security',
    },
    ml2_type_flat: { flat_networks: '*' },
    ml2_type_vxlan: { vni_ranges: '1:10000' },
    nova: credentials(site, 'nova'),
    placement: credentials(site, 'placement'),
    ...shared(site, 'neutron'),
  };
}

function nova(site: Site): Ini {
  const { ports } = site;
  return {
    DEFAULT: {
      ...{
        ...common(site),
        state_path: at(site, 'nova'),
        instances_path: at(site, 'nova/instances'),
        my_ip: '127.0.0.1',
      },
      ...{ host: 'unreal-host', enabled_apis: 'osapi_compute', osapi_compute_listen: '127.0.0.1' },
      ...{ osapi_compute_listen_port: ports.nova, osapi_compute_workers: 1, compute_driver: 'unreal.UnrealDriver' },
      ...{
        vif_plugging_is_fatal: false,
        vif_plugging_timeout: 0,
        reserved_host_memory_mb: 0,
        reserved_host_disk_mb: 0,
      },
      ...{ report_interval: 3, initial_cpu_allocation_ratio: '1.0', initial_ram_allocation_ratio: '1.0' },
      ...{ initial_disk_allocation_ratio: '1.0', update_resources_interval: 30, heal_instance_info_cache_interval: 30 },
      ...{ block_device_allocate_retries_interval: 1, max_concurrent_builds: 50 },
    },
    database: database(site, 'nova'),
    api_database: database(site, 'nova_api'),
    api: { auth_strategy: 'keystone', max_limit: site.pageSize },
    wsgi: { api_paste_config: at(site, 'etc/nova/paste.ini') },
    cinder: { catalog_info: 'volumev3::publicURL', os_region_name: 'RegionOne', ...credentials(site, 'nova') },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: 300 },
    glance: { endpoint_override: urlOf(site, 'glance') },
    neutron: { endpoint_override: urlOf(site, 'neutron'), ...credentials(site, 'neutron') },
    placement: credentials(site, 'placement'),
    vnc: { enabled: false },
    ...shared(site, 'nova'),
  };
}

function cinder(site: Site): Ini {
  return {
    DEFAULT: {
      ...{ ...common(site), state_path: at(site, 'cinder'), my_ip: '127.0.0.1', host: 'unreal-host' },
      ...{ auth_strategy: 'keystone', api_paste_config: at(site, 'etc/cinder/paste.ini') },
      ...{ resource_query_filters_file: at(site, 'etc/cinder/resource_filters.json'), osapi_volume_workers: 1 },
      ...{ osapi_volume_listen: '127.0.0.1', osapi_volume_listen_port: site.ports.cinder, enabled_backends: 'unreal' },
      ...{ default_volume_type: 'unreal', glance_api_servers: urlOf(site, 'glance'), report_interval: 3 },
      // reports the backend to the scheduler
      ...{ periodic_interval: 5, periodic_fuzzy_delay: 0, image_conversion_dir: at(site, 'cinder/conversion') },
    },
    database: database(site, 'cinder'),
    unreal: { volume_driver: 'unreal_cinder.UnrealVolumeDriver', volume_backend_name: 'unreal' },
    nova: credentials(site, 'nova'),
    coordination: { backend_url: `file://${at(site, 'cinder/coordination')}` },
    ...shared(site, 'cinder'),
  };
}

/** Section of a filter with its factory. */
const filter = (factory: string, more: Ini[string] = {}): Ini[string] => ({ 'paste.filter_factory': factory, ...more });
const app = (factory: string): Ini[string] => ({ 'paste.app_factory': factory });
const faults = (service: string): Ini[string] => filter('http_faults:factory', { service });
const authtoken = filter('keystonemiddleware.auth_token:filter_factory');
const proxied = filter('oslo_middleware:HTTPProxyToWSGI.factory');

function glancePaste(): string {
  return iniText({
    'pipeline:glance-api-keystone': { pipeline: 'faults proxied versionnegotiation authtoken context rootapp' },
    'composite:rootapp': {
      'paste.composite_factory': 'glance.api:root_app_factory',
      '/': 'apiversions',
      '/v2': 'apiv2app',
    },
    'app:apiversions': app('glance.api.versions:create_resource'),
    'app:apiv2app': app('glance.api.v2.router:API.factory'),
    'filter:faults': faults('glance'),
    'filter:proxied': proxied,
    'filter:versionnegotiation': filter('glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory'),
    'filter:context': filter('glance.api.middleware.context:ContextMiddleware.factory'),
    'filter:authtoken': { ...authtoken, delay_auth_decision: true },
  })
    .replace('/ = ', '/: ')
    .replace('/v2 = ', '/v2: ');
}

function neutronPaste(): string {
  return iniText({
    'composite:neutron': { use: 'egg:Paste#urlmap', '/': 'versions', '/v2.0': 'api' },
    'composite:api': {
      use: 'call:neutron.auth:pipeline_factory',
      keystone: 'faults proxied request_id catch_errors authtoken context extensions app',
    },
    'composite:versions': { use: 'call:neutron.auth:pipeline_factory', keystone: 'proxied versionsapp' },
    'filter:faults': faults('neutron'),
    'filter:proxied': proxied,
    'filter:request_id': filter('oslo_middleware:RequestId.factory'),
    'filter:catch_errors': filter('oslo_middleware:CatchErrors.factory'),
    'filter:authtoken': authtoken,
    'filter:context': filter('neutron.auth:NeutronKeystoneContext.factory'),
    'filter:extensions': filter('neutron.api.extensions:plugin_aware_extension_middleware_factory'),
    'app:versionsapp': app('neutron.pecan_wsgi.app:versions_factory'),
    'app:app': app('neutron.api.v2.router:APIRouter.factory'),
  })
    .replace('/ = ', '/: ')
    .replace('/v2.0 = ', '/v2.0: ');
}

function novaPaste(): string {
  const api = 'faults proxied compute_req_id faultwrap request_log sizelimit authtoken keystonecontext app';
  return iniText({
    'composite:osapi_compute': {
      use: 'call:nova.api.openstack.urlmap:urlmap_factory',
      '/': 'versions',
      '/v2.1': 'apiversion',
      '/v2.1/+': 'api',
    },
    'composite:api': { use: 'call:nova.api.auth:pipeline_factory_v21', keystone: api },
    'pipeline:versions': { pipeline: 'faultwrap proxied versionsapp' },
    'pipeline:apiversion': { pipeline: 'compute_req_id faultwrap proxied apiversionapp' },
    'filter:faults': faults('nova'),
    'filter:proxied': proxied,
    'filter:compute_req_id': filter('nova.api.compute_req_id:ComputeReqIdMiddleware.factory'),
    'filter:faultwrap': filter('nova.api.openstack:FaultWrapper.factory'),
    'filter:request_log': filter('nova.api.openstack.requestlog:RequestLog.factory'),
    'filter:sizelimit': filter('oslo_middleware:RequestBodySizeLimiter.factory'),
    'filter:authtoken': authtoken,
    'filter:keystonecontext': filter('nova.api.auth:NovaKeystoneContext.factory'),
    'app:versionsapp': app('nova.api.openstack.compute.versions:Versions.factory'),
    'app:apiversionapp': app('nova.api.openstack.compute.versions:VersionsV2.factory'),
    'app:app': app('nova.api.openstack.compute:APIRouterV21.factory'),
  })
    .replace('/ = ', '/: ')
    .replace('/v2.1 = ', '/v2.1: ')
    .replace('/v2.1/+ = ', '/v2.1/+: ');
}

function cinderPaste(): string {
  return iniText({
    'composite:osapi_volume': { use: 'call:cinder.api:root_app_factory', '/': 'versions', '/v3': 'api' },
    'composite:api': {
      use: 'call:cinder.api.middleware.auth:pipeline_factory',
      keystone: 'faults request_id proxied faultwrap sizelimit authtoken keystonecontext app',
    },
    'pipeline:versions': { pipeline: 'request_id proxied faultwrap versionsapp' },
    'filter:faults': faults('cinder'),
    'filter:request_id': filter('cinder.api.middleware.request_id:RequestId.factory'),
    'filter:proxied': proxied,
    'filter:faultwrap': filter('cinder.api.middleware.fault:FaultWrapper.factory'),
    'filter:sizelimit': filter('oslo_middleware:RequestBodySizeLimiter.factory'),
    'filter:authtoken': authtoken,
    'filter:keystonecontext': filter('cinder.api.middleware.auth:CinderKeystoneContext.factory'),
    'app:versionsapp': app('cinder.api.versions:Versions.factory'),
    'app:app': app('cinder.api.v3.router:APIRouter.factory'),
  })
    .replace('/ = ', '/: ')
    .replace('/v3 = ', '/v3: ');
}
