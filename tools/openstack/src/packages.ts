import { chmod, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { ensureDebianPackages, run } from '@nodepool/test-servers';

/** Debian's packages of OpenStack code, without those that run system services. */
export const PACKAGES = [
  ...['python3-keystone', 'python3-placement', 'python3-glance', 'python3-neutron', 'python3-nova', 'python3-cinder'],
  ...['rabbitmq-server', 'mariadb-server-core', 'mariadb-client-core', 'uwsgi-core', 'uwsgi-plugin-python3'],
];

const POLICY = '/usr/sbin/policy-rc.d';

/** Installs missing packages without starting the broker, which would listen on every address. */
export async function installPackages(): Promise<void> {
  const isOurs = process.getuid?.() === 0 && !existsSync(POLICY);
  if (isOurs) {
    await writeFile(POLICY, '#!/bin/sh\nexit 101\n');
    await chmod(POLICY, 0o755);
  }
  try {
    await ensureDebianPackages(PACKAGES);
  } finally {
    if (isOurs) await rm(POLICY, { force: true });
  }
}

/** Installed packages, as `name version`. */
export async function packageVersions(): Promise<string[]> {
  const { stdout } = await run('dpkg-query', ['-W', '-f=${Package} ${Version}\n', ...PACKAGES]);
  return stdout.trim().split('\n');
}
