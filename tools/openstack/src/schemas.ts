import { existsSync } from 'node:fs';
import { run } from '@nodepool/test-servers';
import { databaseUrl } from './config-files.js';
import { script } from './services.js';
import { at, environment, PASSWORDS, urlOf, type Site } from './site.js';

const DATABASES = ['keystone', 'placement', 'glance', 'neutron', 'nova_api', 'nova', 'nova_cell0', 'cinder'];

/** Runs a program of the cloud until it exits. */
async function execute(site: Site, command: readonly string[]): Promise<string> {
  const [program = '', ...args] = command;
  const { stdout } = await run(program, args, { env: environment(site), maxBuffer: 64 * 1024 * 1024 });
  return String(stdout);
}

/** Runs a query as administrator of the database. */
export async function sql(site: Site, statement: string): Promise<string> {
  const socket = `--socket=${at(site, 'run/mariadb.sock')}`;
  return (
    await execute(site, ['/usr/bin/mariadb', '--no-defaults', socket, '-u', 'root', '-N', '-B', '-e', statement])
  ).trim();
}

/** Creates the files of the database server. */
export async function installDatabase(site: Site): Promise<void> {
  if (existsSync(at(site, 'mariadb/mysql'))) return;
  await execute(site, [
    ...['/usr/bin/mariadb-install-db', '--no-defaults', '--user=root', `--datadir=${at(site, 'mariadb')}`],
    ...[`--tmpdir=${at(site, 'tmp')}`, '--auth-root-authentication-method=socket', '--skip-test-db'],
  ]);
}

/** Creates the databases and the user of all services. */
export async function makeDatabases(site: Site): Promise<void> {
  const statements = DATABASES.map((name) => `create database if not exists ${name} default character set utf8mb3;`);
  const user = `create user if not exists openstack@'127.0.0.1' identified by '${PASSWORDS.database}';`;
  await sql(site, `${statements.join('')} ${user} grant all on *.* to openstack@'127.0.0.1';`);
}

/** Creates the tables of all services in parallel. */
export async function makeTables(site: Site): Promise<void> {
  const manage: Manage = (name, file, ...args) =>
    execute(site, script(name, '--config-file', at(site, 'etc', file), ...args));
  await Promise.all([
    makeKeystone(site, manage),
    makeNova(site, manage),
    manage('placement-manage', 'placement/placement.conf', 'db', 'sync'),
    manage('glance-manage', 'glance/glance-api.conf', 'db_sync'),
    manage('neutron-db-manage', 'neutron/neutron.conf', 'upgrade', 'heads'),
    manage('cinder-manage', 'cinder/cinder.conf', 'db', 'sync'),
  ]);
}

/** Registers the compute host with Nova. @returns whether it is registered; `false` before it has reported itself */
export async function discoverHost(site: Site): Promise<boolean> {
  if ((await sql(site, 'select count(*) from nova.compute_nodes where deleted = 0;')) === '0') return false;
  if ((await sql(site, 'select count(*) from nova_api.host_mappings;')) === '0') {
    await execute(
      site,
      script('nova-manage', '--config-file', at(site, 'etc/nova/nova.conf'), 'cell_v2', 'discover_hosts'),
    );
  }
  return true;
}

/** Whether Cinder's backend and Nova's host have reported within the last 30 s. */
export async function haveReported(site: Site): Promise<boolean> {
  const recent = 'utc_timestamp() - interval 30 second';
  const nova = `select count(*) from nova.services where \`binary\`='nova-compute' and last_seen_up > ${recent};`;
  const cinder = `select count(*) from cinder.services where \`binary\`='cinder-volume' and updated_at > ${recent};`;
  return (await sql(site, nova)) !== '0' && (await sql(site, cinder)) !== '0';
}

/** Runs the management program of a service. @param file - configuration of the service, relative to `etc` */
type Manage = (name: string, file: string, ...args: string[]) => Promise<string>;

async function makeKeystone(site: Site, manage: Manage): Promise<void> {
  const keystone = (...args: string[]) => manage('keystone-manage', 'keystone/keystone.conf', ...args);
  const owner = ['--keystone-user', 'root', '--keystone-group', 'root'];
  await keystone('db_sync');
  await keystone('fernet_setup', ...owner);
  await keystone('credential_setup', ...owner);
  await keystone(
    ...['bootstrap', '--bootstrap-username', 'admin', '--bootstrap-password', PASSWORDS.admin],
    ...['--bootstrap-project-name', 'admin', '--bootstrap-role-name', 'admin'],
    ...['--bootstrap-service-name', 'keystone', '--bootstrap-region-id', 'RegionOne'],
    ...['--bootstrap-public-url', urlOf(site, 'keystone', '/v3')],
  );
}

async function makeNova(site: Site, manage: Manage): Promise<void> {
  const nova = (...args: string[]) => manage('nova-manage', 'nova/nova.conf', ...args);
  await nova('api_db', 'sync');
  await nova('cell_v2', 'map_cell0', '--database_connection', databaseUrl(site, 'nova_cell0'));
  const cells = await nova('cell_v2', 'list_cells');
  if (!cells.includes(' cell1 ')) await nova('cell_v2', 'create_cell', '--name', 'cell1');
  await nova('db', 'sync');
}
