import { connect, type ZooKeeper } from '@nodepool/zk-protocol';
import type { ZooKeeperHandle } from '@nodepool/test-servers';

/** Opens a bare session of its own with the servers under test. */
export function openSession(
  zookeeper: Pick<ZooKeeperHandle, 'connectString' | 'tlsFiles'>,
  sessionTimeoutMs = 20_000,
): Promise<ZooKeeper> {
  const { tlsFiles } = zookeeper;
  const tls = tlsFiles && { ca: tlsFiles.ca, cert: tlsFiles.cert, key: tlsFiles.key };
  return connect({ servers: zookeeper.connectString, tls, sessionTimeoutMs });
}
