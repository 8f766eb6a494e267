import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Directory and ports of one cloud on 127.0.0.1. */
export interface Site {
  readonly dir: string;
  readonly ports: Readonly<Record<PortName, number>>;
  /** Lifetime of tokens in seconds. */
  readonly tokenSeconds: number;
  /** Maximum page size of Nova's server list. */
  readonly pageSize: number;
}

/** Names of ports. */
export type PortName =
  'keystone' | 'glance' | 'mariadb' | 'epmd' | 'rabbit' | 'rabbitDist' | 'neutron' | 'nova' | 'cinder' | 'placement';

/** Python modules that replace hardware. */
export const PYTHON_DIR = fileURLToPath(new URL('../python/', import.meta.url));

/** Fixed passwords: all ports are on loopback, and all users exist only in one test cloud. */
export const PASSWORDS = { database: 'db', broker: 'broker', service: 'service', admin: 'admin', user: 'nodepool' };

/** Consecutive ports from `base` on. */
export function portsFrom(base: number): Site['ports'] {
  const names: PortName[] = [
    'keystone',
    'glance',
    'mariadb',
    'epmd',
    'rabbit',
    'rabbitDist',
    'neutron',
    'nova',
    'cinder',
    'placement',
  ];
  return Object.fromEntries(names.map((name, i) => [name, base + i])) as Record<PortName, number>;
}

/** Path in the directory of the cloud. */
export function at(site: Site, ...path: string[]): string {
  return join(site.dir, ...path);
}

/** URL of a service. */
export function urlOf(site: Site, name: PortName, path = ''): string {
  return `http://127.0.0.1:${site.ports[name]}${path}`;
}

/** Environment of all processes of the cloud; excludes the environment of this process. */
export function environment(site: Site): Record<string, string> {
  return {
    HOME: at(site, 'home'),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    PYTHONPATH: `${PYTHON_DIR}:${at(site, 'python')}`,
    PYTHONUNBUFFERED: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    LC_ALL: 'C.UTF-8',
    FAULTS_DIR: at(site, 'faults'),
  };
}
