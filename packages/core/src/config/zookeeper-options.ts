import type { Acl } from '@nodepool/zk-protocol';
import type { ZooKeeperSettings } from '../contract/config.js';

/** Client options from the configuration. */
export interface ConfiguredConnection {
  readonly servers: { host: string; port: number; chroot?: string | undefined }[];
  readonly tls: { cert: string; key: string; ca: string; verifyHostname: boolean } | undefined;
  readonly auth?: { scheme: string; auth: string }[];
  readonly defaultAcl?: readonly Acl[];
  readonly sessionTimeoutMs: number;
  readonly serverPauseMs?: number;
}

/** All permissions for the creator only. */
const OWN_LOGIN_ONLY: readonly Acl[] = [{ permissions: 31, scheme: 'auth', id: '' }];

/** Converts ZooKeeper settings to client options. `servers` is empty if none are configured. */
export function configuredConnection(settings: ZooKeeperSettings): ConfiguredConnection {
  const { tls, digest } = settings;
  return {
    servers: settings.servers.map(({ host, port, chroot }) => ({ host, port, chroot })),
    tls: tls && { cert: tls.certFile, key: tls.keyFile, ca: tls.caFile, verifyHostname: tls.verifyHostname },
    ...(digest && { auth: [{ scheme: 'digest', auth: `${digest.user}:${digest.password}` }] }),
    ...(digest?.protect && { defaultAcl: OWN_LOGIN_ONLY }),
    sessionTimeoutMs: settings.sessionTimeoutMs,
  };
}
