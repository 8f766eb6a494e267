import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inspectDrivers } from '../../src/config/inspect-drivers.js';
import { createDriverRegistry } from '../../src/config/discovery/registry.js';
import { loadConfig } from '../../src/config/load-config.js';
import type { Config, ConfigProblem } from '../../src/contract/config.js';
import { ConfigError } from '../../src/contract/errors.js';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, '../fixtures/installations');
const packages = join(here, '../../..');
const ENV = { OS_CLIENT_CONFIG_FILE: join(folder, 'clouds.yaml') };

/** The drivers of this workspace, found as in an installation. */
const places = { searchFrom: [here], conditions: ['@nodepool/source'] };
const usable = (await inspectDrivers(places)).filter(({ problem }) => problem === undefined).map(({ name }) => name);

/** Problems of a file, as `path: message`. */
async function said(file: string): Promise<string[]> {
  const drivers = createDriverRegistry(places);
  const problems: readonly ConfigProblem[] = await loadConfig({
    file: join(folder, file),
    env: ENV,
    drivers,
    mode: 'validate',
  }).then(
    ({ warnings }) => warnings,
    (error: unknown) => {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    },
  );
  return problems.map(({ severity, path, message }) => `${severity}: ${path}: ${message}`);
}

/** A file as a service reads it that has these drivers alone. */
async function withDrivers(file: string, names: readonly string[]): Promise<Config> {
  const installation = await mkdtemp(join(await realpath(tmpdir()), 'installation-'));
  onTestFinished(() => rm(installation, { recursive: true }));
  const scope = join(installation, 'node_modules', '@nodepool');
  await mkdir(scope, { recursive: true });
  for (const name of names) await symlink(join(packages, `driver-${name}`), join(scope, `driver-${name}`));
  const drivers = createDriverRegistry({ ...places, searchFrom: [installation] });
  return loadConfig({ file: join(folder, file), env: ENV, drivers, mode: 'service' });
}

/** The expected message about a driver that this workspace does not have yet. */
function withoutDriver(name: string): unknown[] {
  return usable.includes(name) ? [] : [expect.stringMatching(new RegExp(`^error: .*: driver "${name}"`))];
}

describe('configuration files of public installations', () => {
  it('of a builder load unchanged and without messages', async () => {
    expect(await said('builder.yaml')).toEqual(withoutDriver('openstack'));
  });

  it('of a launcher load unchanged and without messages', async () => {
    expect(await said('launcher.yaml')).toEqual(withoutDriver('openstack'));
  });

  it('of a small installation load unchanged with warnings', async () => {
    expect(await said('small.yaml')).toEqual([
      'warning: zookeeper-servers: the connection to ZooKeeper at zookeeper.ci is not encrypted, set "zookeeper-tls" with cert, key and ca',
      'warning: zookeeper-servers[0].chroot: is taken as "/nodepool": a chroot begins with "/"',
      'warning: providers[0].pools[0].nodes[1].ssh-port: "ssh-port" is the old name of "connection-port": rename it',
    ]);
  });

  it('report each driver that only the original has once, with all its positions', async () => {
    expect(await said('other-drivers.yaml')).toEqual([
      expect.stringMatching(
        /^error: providers\[0\]\.driver: driver "azure" is one of the original Nodepool's .*; the same for "region-2" in line 21$/,
      ),
      expect.stringMatching(/^error: providers\[2\]\.driver: driver "aws" is one of the original Nodepool's/),
    ]);
  });

  it.each([
    [
      'pods-beside-clouds.yaml',
      [expect.stringMatching(/^warning: labels\[5\]\.name: no pool offers label "fedora-38"/)],
    ],
    ['pods-by-spec.yaml', []],
    [
      'pods-in-namespaces.yaml',
      [
        expect.stringMatching(
          /^warning: providers\[0\]\.pools\[0\]: .* lent to no lessee: set service-account of the pool/,
        ),
      ],
    ],
  ])('with pods load unchanged: %s', async (file, warnings) => {
    expect(await said(file)).toEqual(warnings);
  });

  it.each([
    ['pods-beside-clouds.yaml', 'kubernetes', 'cluster', ['project-1', 'project-2']],
    ['pods-beside-clouds.yaml', 'openstack', 'project-1', ['cluster']],
    ['pods-by-spec.yaml', 'kubernetes', 'lab-kubernetes', ['lab-openstack']],
    ['pods-in-namespaces.yaml', 'openshiftpods', 'local', ['rack']],
  ])('%s serves the rest without driver "%s"', async (file, missing, provider, served) => {
    const all = ['kubernetes', 'openshiftpods', 'openstack', 'static'];
    const config = await withDrivers(
      file,
      all.filter((name) => name !== missing),
    );

    expect([...config.providers.keys()]).toEqual(served);
    expect(config.unserved?.get(provider)).toMatchObject({ driverName: missing });
    const about = config.warnings.filter(({ message }) => message.includes(`provider "${provider}" is not served`));
    expect(about).toMatchObject([
      { message: expect.stringContaining(`npm install @nodepool/driver-${missing}`) as string },
    ]);
  });

  it('of versions before 3 are distinguished from files with errors', async () => {
    expect(await said('before-version-3.yaml')).toEqual([
      expect.stringMatching(/^error: labels\[0\]\.image: this is a file for Nodepool before version 3 /),
    ]);
  });
});
