import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where everything of one cloud is, and on which ports of 127.0.0.1 it listens. */
export interface Site {
  readonly dir: string;
  readonly ports: Readonly<Record<PortName, number>>;
  /** Seconds a token lives. */
  readonly tokenSeconds: number;
  /** Most servers in one answer of Nova. */
  readonly pageSize: number;
}

/** Who listens. */
export type PortName =
  'keystone' | 'glance' | 'mariadb' | 'epmd' | 'rabbit' | 'rabbitDist' | 'neutron' | 'nova' | 'cinder' | 'placement';

/** The parts that are not hardware, in Python. */
export const PYTHON_DIR = fileURLToPath(new URL('../python/', import.meta.url));

/** They guard nothing: all ports are on loopback and all users are made for one test cloud. */
export const PASSWORDS = { database: 'db', broker: 'broker', service: 'service', admin: 'admin', user: 'nodepool' };

/** Ports next to each other, from `base` on. */
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

/** Below the cloud's directory. */
export function at(site: Site, ...path: string[]): string {
  return join(site.dir, ...path);
}

/** Address of one of the services. */
export function urlOf(site: Site, name: PortName, path = ''): string {
  return `http://127.0.0.1:${site.ports[name]}${path}`;
}

/** What every process of the cloud gets, and nothing of our own environment. */
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
