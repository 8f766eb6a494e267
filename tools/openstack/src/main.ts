// main.js [DIR]: starts a test cloud, prints the path of its clouds.yaml, and stops it on Ctrl-C.
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OpenStack } from './openstack.js';

const dir = resolve(process.argv[2] ?? join(tmpdir(), 'nodepool-test-openstack'));
const startedMs = Date.now();
const log = (line: string): void => console.log(`${((Date.now() - startedMs) / 1_000).toFixed(1)} s: ${line}`);
const cloud = await OpenStack.start({ dir, log });
log(`export OS_CLIENT_CONFIG_FILE=${cloud.cloudsFile}`);
await new Promise<void>((end) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end());
});
await cloud.stop();
log('down');
process.exit(0);
