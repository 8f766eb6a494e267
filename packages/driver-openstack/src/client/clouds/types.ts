import type { JsonObject } from '@nodepool/zk-protocol';

/** A service of OpenStack, by the prefix of its settings. */
export type ServiceName = 'identity' | 'compute' | 'image' | 'network' | 'volume';

/** Credentials, as written. */
export interface CloudAuth {
  readonly method: 'password' | 'token' | 'application-credential' | 'none';
  /** Without the version. */
  readonly authUrl: string | undefined;
  readonly userId?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly userDomainId?: string | undefined;
  readonly userDomainName?: string | undefined;
  readonly projectId?: string | undefined;
  readonly projectName?: string | undefined;
  readonly projectDomainId?: string | undefined;
  readonly projectDomainName?: string | undefined;
  readonly domainId?: string | undefined;
  readonly domainName?: string | undefined;
  readonly systemScope?: string | undefined;
  readonly trustId?: string | undefined;
  readonly token?: string | undefined;
  readonly applicationCredentialId?: string | undefined;
  readonly applicationCredentialName?: string | undefined;
  readonly applicationCredentialSecret?: string | undefined;
  /** One-time password of a second factor. */
  readonly passcode?: string | undefined;
}

/** Configuration of one network. */
export interface NetworkHint {
  /** Name or id. */
  readonly name: string;
  readonly routesIpv4Externally: boolean | undefined;
  readonly routesIpv6Externally: boolean | undefined;
  readonly natDestination: boolean;
  readonly natSource: boolean;
  readonly defaultInterface: boolean;
}

/** Settings of one cloud in one region. */
export interface CloudSettings {
  /** Name of the entry. */
  readonly name: string;
  readonly region: string | undefined;
  readonly auth: CloudAuth;
  /** Interfaces of the catalogue, in order of preference. */
  readonly interfaces: readonly string[];
  /** Verify certificates. Default true. */
  readonly verify: boolean;
  /** File with the certificates of authorities. */
  readonly cacert: string | undefined;
  /** File with the client certificate. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Timeout of one call, ms. */
  readonly timeoutMs: number;
  /** Endpoints that override the catalogue. */
  readonly endpoints: Readonly<Partial<Record<ServiceName, string>>>;
  /** Names and types in the catalogue, if not the usual ones. */
  readonly serviceTypes: Readonly<Partial<Record<ServiceName, string>>>;
  readonly serviceNames: Readonly<Partial<Record<ServiceName, string>>>;
  readonly imageFormat: string;
  /** Source of floating IPs; `none`: the cloud has none. */
  readonly floatingIpSource: 'neutron' | 'none';
  readonly hasNetwork: boolean;
  /** Whether to connect to private addresses of servers. */
  readonly isPrivate: boolean;
  readonly forceIpv4: boolean;
  readonly useExternalNetwork: boolean;
  readonly useInternalNetwork: boolean;
  readonly networks: readonly NetworkHint[];
  /** Minimum interval between lists of servers; `undefined`: not configured. */
  readonly serverListMs: number | undefined;
  /** Prefix of additional statsd metrics; `undefined`: none. */
  readonly metricsPrefix: string | undefined;
}

/** The merged content of `clouds.yaml`, `secure.yaml` and `clouds-public.yaml`. */
export interface CloudFiles {
  readonly clouds: JsonObject;
  readonly publicClouds: JsonObject;
  /** Keys outside of the clouds: `cache`, `client`, `metrics`. */
  readonly top: JsonObject;
  /** The files in reading order. */
  readonly files: readonly string[];
}
