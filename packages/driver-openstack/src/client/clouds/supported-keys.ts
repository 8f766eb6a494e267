import { isMap, type JsonObject } from '@nodepool/zk-protocol';

/** Supported keys of an entry. */
const SUPPORTED = new Set([
  ...['auth', 'auth_type', 'auth_plugin', 'auth_url', 'username', 'user_id', 'password', 'token', 'auth_token'],
  ...['project_id', 'project_name', 'tenant_id', 'tenant_name', 'user_domain_id', 'user_domain_name', 'passcode'],
  ...['project_domain_id', 'project_domain_name', 'domain_id', 'domain_name', 'default_domain', 'default_domain_id'],
  ...['default_domain_name', 'system_scope', 'trust_id', 'identity_api_version', 'profile', 'cloud'],
  ...['region_name', 'regions', 'interface', 'endpoint_type', 'verify', 'insecure', 'cacert', 'cert', 'key'],
  ...['api_timeout', 'image_format', 'floating_ip_source', 'has_network', 'private'],
  ...['force_ipv4', 'use_external_network', 'use_internal_network', 'networks', 'external_network'],
  ...['internal_network', 'nat_destination', 'nat_source', 'default_interface', 'default_network'],
  ...['routes_externally', 'cache'],
]);

/** Keys without a need for a warning: defaults, and settings of unused features. */
const HARMLESS = new Set([
  ...['message', 'status', 'vendor_hook', 'secgroup_source', 'requires_floating_ip', 'disable_vendor_agent'],
  ...[
    'network_api_version',
    'compute_api_version',
    'image_api_version',
    'volume_api_version',
    'object_store_api_version',
  ],
  ...['block_storage_api_version', 'block_store_api_version', 'dns_api_version', 'database_service_type'],
]);

const PER_SERVICE =
  /^(identity|compute|image|network|volume|volumev3|block_storage|block_store)_(endpoint_override|service_type|service_name)$/;

/** Unsupported keys and values of an entry, for a warning. */
export function unsupportedKeys(cloud: JsonObject): string[] {
  return Object.entries(cloud)
    .filter(([key, value]) => !SUPPORTED.has(key) && !HARMLESS.has(key) && !PER_SERVICE.test(key) && value !== false)
    .flatMap(([key]) => (key === 'metrics' ? unsupportedMetrics(cloud) : [key]))
    .concat(cloud['floating_ip_source'] === 'nova' ? ['floating_ip_source: nova'] : []);
}

/** Unsupported keys beside the clouds. */
export function unsupportedTop(top: JsonObject): string[] {
  return Object.keys(top).flatMap((key) => {
    if (key === 'metrics') return unsupportedMetrics(top);
    return key === 'client' || key === 'cache' ? [] : [key];
  });
}

/** Only the prefix of metrics is used; their destination is that of Nodepool. */
function unsupportedMetrics({ metrics }: JsonObject): string[] {
  if (!isMap(metrics)) return ['metrics'];
  const { statsd, ...others } = metrics;
  const ofStatsd = isMap(statsd) ? Object.keys(statsd).filter((key) => key !== 'prefix') : [];
  return [...ofStatsd.map((key) => `metrics.statsd.${key}`), ...Object.keys(others).map((key) => `metrics.${key}`)];
}
