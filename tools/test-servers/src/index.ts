export { run, ServerProcess } from './child-process.js';
export { ensureDebianPackages, unpackDebianPackage } from './debian-packages.js';
export { accepts, freePorts } from './ports.js';
export { type SshdHandle, type SshdOptions, type SshHost, type SshKeyType, startSshd } from './sshd.js';
export { startStatsd, type StatsdHandle, type StatsdMetrics } from './statsd.js';
export { makeSelfSigned, makeTlsFiles, type TlsFiles } from './tls-files.js';
export { startZooKeeper, type ZooKeeperHandle, type ZooKeeperServerInfo } from './zookeeper.js';
export type { ZooKeeperOptions } from './zookeeper-config.js';
