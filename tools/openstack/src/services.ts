import { at, environment, PYTHON_DIR, urlOf, type PortName, type Site } from './site.js';

/** A process of the cloud. */
export interface ServiceDefinition {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Port it listens on. */
  readonly port?: PortName;
  /** URL that responds without a server error when the service is ready. */
  readonly url?: string;
}

/** Service names in start order. */
export const SERVICE_NAMES = [
  ...['mariadb', 'epmd', 'rabbitmq', 'keystone', 'placement', 'glance-api', 'neutron-server'],
  ...[
    'nova-conductor',
    'nova-scheduler',
    'nova-api',
    'nova-compute',
    'cinder-api',
    'cinder-scheduler',
    'cinder-volume',
  ],
] as const;

/** A console script of one of the packages. */
export function script(name: string, ...args: readonly string[]): string[] {
  return ['/usr/bin/python3', `${PYTHON_DIR}entry_point.py`, name, ...args];
}

/** Command of each service. */
export function services(site: Site): Record<string, ServiceDefinition> {
  const { ports } = site;
  const etc = (file: string): string => at(site, 'etc', file);
  const nova = ['--config-file', etc('nova/nova.conf')];
  const cinder = ['--config-file', etc('cinder/cinder.conf')];
  return {
    mariadb: {
      command: ['/usr/sbin/mariadbd', `--defaults-file=${etc('mariadb.cnf')}`, '--user=root'],
      port: 'mariadb',
    },
    epmd: { command: ['/usr/bin/epmd', '-address', '127.0.0.1', '-port', String(ports.epmd)], port: 'epmd' },
    rabbitmq: { command: ['/usr/lib/rabbitmq/bin/rabbitmq-server'], env: rabbitEnv(site), port: 'rabbit' },
    keystone: {
      command: uwsgi(ports.keystone, `${PYTHON_DIR}keystone_app.py`),
      env: { OS_KEYSTONE_CONFIG_FILES: 'keystone.conf', OS_KEYSTONE_CONFIG_DIR: etc('keystone') },
      url: urlOf(site, 'keystone', '/v3'),
    },
    placement: {
      command: uwsgi(ports.placement, `${PYTHON_DIR}placement_app.py`),
      env: { OS_PLACEMENT_CONFIG_DIR: etc('placement') },
      url: urlOf(site, 'placement', '/'),
    },
    'glance-api': {
      command: script('glance-api', '--config-file', etc('glance/glance-api.conf')),
      url: urlOf(site, 'glance', '/'),
    },
    'neutron-server': {
      command: script('neutron-server', '--config-file', etc('neutron/neutron.conf')),
      url: urlOf(site, 'neutron', '/'),
    },
    'nova-conductor': { command: script('nova-conductor', ...nova) },
    'nova-scheduler': { command: script('nova-scheduler', ...nova) },
    'nova-api': { command: script('nova-api-os-compute', ...nova), url: urlOf(site, 'nova', '/') },
    'nova-compute': { command: script('nova-compute', ...nova) },
    'cinder-api': { command: script('cinder-api', ...cinder), url: urlOf(site, 'cinder', '/') },
    'cinder-scheduler': { command: script('cinder-scheduler', ...cinder) },
    'cinder-volume': { command: script('cinder-volume', ...cinder) },
  };
}

/** Complete environment of a service. */
export function serviceEnv(site: Site, { env }: ServiceDefinition): Record<string, string> {
  return { ...environment(site), ...env };
}

function rabbitEnv(site: Site): Record<string, string> {
  const { ports } = site;
  const quiet = '+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}';
  return {
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(ports.epmd),
    RABBITMQ_DIST_PORT: String(ports.rabbitDist),
    RABBITMQ_NODENAME: `test-openstack-${ports.rabbit}@localhost`,
    RABBITMQ_BASE: at(site, 'rabbitmq'),
    RABBITMQ_CONFIG_FILE: at(site, 'etc/rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: at(site, 'etc/rabbitmq-plugins'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_MNESIA_BASE: at(site, 'rabbitmq/mnesia'),
    RABBITMQ_LOG_BASE: at(site, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: at(site, 'rabbitmq/pid'),
    RUNNING_UNDER_SYSTEMD: 'yes',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: quiet,
  };
}

function uwsgi(port: number, file: string): string[] {
  return [
    ...['/usr/bin/uwsgi', '--plugins', 'python3', '--http-socket', `127.0.0.1:${port}`, '--wsgi-file', file],
    ...['--processes', '1', '--threads', '8', '--master', '--die-on-term', '--need-app', '--lazy-apps'],
    ...['--enable-threads', '--buffer-size', '65535', '--no-orphans', '--disable-logging'],
    // the content length that applications set does not match the data that uwsgi sends
    ...['--rem-header', 'Content-Length', '--add-header', 'Connection:close'],
  ];
}
