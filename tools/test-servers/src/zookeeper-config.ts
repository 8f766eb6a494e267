import type { TlsFiles } from './tls-files.js';

/** Settings of a ZooKeeper for tests; all optional. */
export interface ZooKeeperOptions {
  /** Sessions over TLS with client certificates; a plain port stays open for four-letter words. Default: false. */
  tls?: boolean;
  /** Three servers instead of one. Default: false. */
  ensemble?: boolean;
  /** Granularity of session expiry. Default: 500. */
  tickMs?: number;
  /** Shortest session timeout. Default: 1000. */
  minSessionTimeoutMs?: number;
  /** Longest session timeout. Default: 60000. */
  maxSessionTimeoutMs?: number;
  /** Sync each group of transactions to disk, as in production. Default: false. */
  forceSync?: boolean;
  /** Additional options of java, such as `-Djute.maxbuffer=4194304`. */
  javaOptions?: string[];
  /** Additional lines of zoo.cfg. */
  config?: Record<string, string | number>;
}

/** Ports of one server. */
export interface ServerPorts {
  client: number;
  /** Undefined without TLS. */
  secure: number | undefined;
  quorum: number;
  election: number;
}

const CIPHER_SUITES = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
];

function tlsSettings(port: number, files: TlsFiles): Record<string, string | number> {
  return {
    secureClientPort: port,
    secureClientPortAddress: '127.0.0.1',
    serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
    'authProvider.x509': 'org.apache.zookeeper.server.auth.X509AuthenticationProvider',
    'ssl.protocol': 'TLSv1.3',
    'ssl.enabledProtocols': 'TLSv1.3,TLSv1.2',
    // TLS 1.3 is only enabled if its suites are listed.
    'ssl.ciphersuites': CIPHER_SUITES.join(','),
    'ssl.clientAuth': 'need',
    'ssl.keyStore.location': files.serverPem,
    'ssl.keyStore.type': 'PEM',
    'ssl.trustStore.location': files.ca,
    'ssl.trustStore.type': 'PEM',
    'ssl.hostnameVerification': 'false',
  };
}

/** The zoo.cfg of server `index` of an ensemble with these ports. */
export function zooCfg(
  options: ZooKeeperOptions,
  dataDir: string,
  ports: readonly ServerPorts[],
  index: number,
  tlsFiles: TlsFiles | undefined,
): string {
  const own = ports[index];
  if (own === undefined) throw new Error(`no ports for ZooKeeper server ${index}`);
  const settings: Record<string, string | number> = {
    tickTime: options.tickMs ?? 500,
    initLimit: 20,
    syncLimit: 10,
    minSessionTimeout: options.minSessionTimeoutMs ?? 1000,
    maxSessionTimeout: options.maxSessionTimeoutMs ?? 60_000,
    maxClientCnxns: 0,
    preAllocSize: 8192,
    '4lw.commands.whitelist': '*',
    forceSync: options.forceSync ? 'yes' : 'no',
    'admin.enableServer': 'false',
    standaloneEnabled: 'true',
    reconfigEnabled: 'false',
    dataDir,
    clientPort: own.client,
    clientPortAddress: '127.0.0.1',
    ...(own.secure !== undefined && tlsFiles ? tlsSettings(own.secure, tlsFiles) : {}),
    ...options.config,
  };
  if (ports.length > 1) {
    ports.forEach(({ quorum, election }, i) => (settings[`server.${i + 1}`] = `127.0.0.1:${quorum}:${election}`));
  }
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}
