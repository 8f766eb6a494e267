import type { ZooKeeperSettings } from '../config/types.js';

/** What the client needs of the configuration. */
export interface ConfiguredConnection {
  readonly servers: { host: string; port: number; chroot?: string | undefined }[];
  readonly tls: { cert: string; key: string; ca: string; verifyHostname: boolean } | undefined;
  readonly sessionTimeoutMs: number;
}

/** The ZooKeeper part of a configuration as options of the client; `servers` is empty when none are configured. */
export function configuredConnection(settings: ZooKeeperSettings): ConfiguredConnection {
  const { tls } = settings;
  return {
    servers: settings.servers.map(({ host, port, chroot }) => ({ host, port, chroot })),
    tls: tls && { cert: tls.certFile, key: tls.keyFile, ca: tls.caFile, verifyHostname: tls.verifyHostname },
    sessionTimeoutMs: settings.sessionTimeoutMs,
  };
}
