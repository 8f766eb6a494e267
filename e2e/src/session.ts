import { connect, type ZooKeeper } from '@nodepool/zk-protocol';
import type { ZooKeeperHandle } from '@nodepool/test-servers';

/** Opens a bare session of its own with the servers under test. */
export function openSession(
  zookeeper: Pick<ZooKeeperHandle, 'connectString' | 'tlsFiles'>,
  sessionTimeoutMs = 60_000,
): Promise<ZooKeeper> {
  const { tlsFiles } = zookeeper;
  const tls = tlsFiles && { ca: tlsFiles.ca, cert: tlsFiles.cert, key: tlsFiles.key };
  return connect({ servers: zookeeper.connectString, tls, sessionTimeoutMs });
}

/** Resolves when there is nothing at a path, e.g. because the session that made it is over. */
export function whenGone(zk: ZooKeeper, path: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const look = (): void => {
      zk.exists(path, look).then((stat) => (stat === undefined ? resolve() : undefined), reject);
    };
    look();
  });
}
