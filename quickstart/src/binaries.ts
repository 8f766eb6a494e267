import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** The script behind a published command. */
function binary(packageName: string, command: string): string {
  return join(dirname(require.resolve(packageName)), '..', 'bin', `${command}.js`);
}

/** `nodepool-launcher`. */
export const LAUNCHER = binary('@nodepool/launcher', 'nodepool-launcher');
/** `nodepool-builder`. */
export const BUILDER = binary('@nodepool/builder', 'nodepool-builder');
/** `nodepool-fake-cloud`. */
export const FAKE_CLOUD = binary('@nodepool/driver-fake', 'nodepool-fake-cloud');
/** `nodepool`. */
export const NODEPOOL = binary('@nodepool/cli', 'nodepool');
