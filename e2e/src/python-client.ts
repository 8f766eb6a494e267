import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureDebianPackages, type ZooKeeperHandle } from '@nodepool/test-servers';
import type { NodeBody, RequestBody } from './zuul-records.js';

const run = promisify(execFile);

/** What the Python client saw. */
export interface PythonResult {
  request: RequestBody;
  /** The nodes as they were while in use. */
  nodes: NodeBody[];
}

/**
 * Runs one request from submission to return by a client made with kazoo, Zuul's own ZooKeeper library.
 * @throws {Error} it did not get its nodes; with what it said
 */
export async function requestByPython(zookeeper: ZooKeeperHandle, labels: string[]): Promise<PythonResult> {
  await ensureDebianPackages(['python3-kazoo']);
  const script = fileURLToPath(new URL('../python/zuul_client.py', import.meta.url));
  const { ca, cert, key } = zookeeper.tlsFiles ?? {};
  const tls = ca && cert && key ? ['--ca', ca, '--cert', cert, '--key', key] : [];
  const args = [script, '--hosts', zookeeper.connectString, ...tls, ...labels.flatMap((label) => ['--label', label])];
  const { stdout } = await run('/usr/bin/python3', args);
  return JSON.parse(stdout) as PythonResult;
}
