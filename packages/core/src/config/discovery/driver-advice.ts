import { DriverError } from '../../contract/errors.js';
import { didYouMean, nearestName } from '../../text/suggest.js';

/** Drivers of this project, by name. */
const OWN_DRIVERS = ['openstack', 'static', 'metastatic', 'gce', 'incus', 'kubernetes', 'openshiftpods', 'fake'];

/** Drivers of Nodepool (Python) without a package of this project. */
const ORIGINAL_DRIVERS = ['aws', 'azure', 'ibmvpc', 'openshift'];

const MAX_NAME_LENGTH = 214;
const SHORT_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const SCOPED_NAME = /^@[a-z0-9~-][a-z0-9._~-]*\/[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Rejects invalid package names, so that no folder outside of the package folders is accessed.
 * @throws {DriverError} with a suggested name
 */
export function assertDriverName(name: string): void {
  const isName = name.length <= MAX_NAME_LENGTH && (SHORT_NAME.test(name) || SCOPED_NAME.test(name));
  if (isName) return;
  const hint = didYouMean(name, [...OWN_DRIVERS, ...ORIGINAL_DRIVERS]);
  const expected = 'expected a short name such as openstack, a package such as "@acme/nodepool-driver-rack", or a path';
  throw new DriverError(name, `${JSON.stringify(name.slice(0, 80))} is no name of a driver${hint || `, ${expected}`}`, {
    isMissing: true,
  });
}

/**
 * Advises how to install a missing driver. Suggests only packages of this project and full names with a scope, because
 * anyone can register any other name.
 * @param installed - names of the installed drivers
 */
export function adviseMissingDriver(name: string, installed: readonly string[], searched: readonly string[]): string {
  const missing = `driver "${name}" is not installed (searched from ${searched.join(', ') || 'the global folder'})`;
  if (OWN_DRIVERS.includes(name)) return `${missing}, install it with: npm install @nodepool/driver-${name}`;
  if (name.startsWith('@')) return `${missing}, install it with: npm install ${name}`;
  if (ORIGINAL_DRIVERS.includes(name)) {
    return (
      `driver "${name}" is one of the original Nodepool's that this one has no package for: keep this provider on a launcher ` +
      'of the original, or install a package from a trusted author and name it in full: driver: "@scope/nodepool-driver-..."'
    );
  }
  const known = [...new Set([...installed, ...OWN_DRIVERS, ...ORIGINAL_DRIVERS])];
  const meant = nearestName(name, known);
  if (meant !== undefined) return `${missing}, did you mean "${meant}"?`;
  const there = installed.length > 0 ? `installed are ${installed.join(', ')}` : 'no driver is installed';
  return `${missing}, ${there}: install the package of the driver by its full name, or correct the name`;
}
