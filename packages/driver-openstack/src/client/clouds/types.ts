import type { JsonObject } from '@nodepool/zk-protocol';

/** A service of OpenStack, by the name its settings begin with. */
export type ServiceName = 'identity' | 'compute' | 'image' | 'network' | 'volume';

/** How to prove who we are. All texts as written; what is missing is `undefined`. */
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

/** What the operator says about one network. */
export interface NetworkHint {
  /** Name or id. */
  readonly name: string;
  readonly routesIpv4Externally: boolean | undefined;
  readonly routesIpv6Externally: boolean | undefined;
  readonly natDestination: boolean;
  readonly natSource: boolean;
  readonly defaultInterface: boolean;
}

/** One cloud in one region, ready to be used. */
export interface CloudSettings {
  /** Name of the entry. */
  readonly name: string;
  readonly region: string | undefined;
  readonly auth: CloudAuth;
  /** Which endpoint of the catalogue, in order of preference. */
  readonly interfaces: readonly string[];
  /** Verify certificates. Default true. */
  readonly verify: boolean;
  /** File with the certificates of authorities. */
  readonly cacert: string | undefined;
  /** File with our own certificate. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Time for one call, ms. */
  readonly timeoutMs: number;
  /** Endpoints that replace those of the catalogue. */
  readonly endpoints: Readonly<Partial<Record<ServiceName, string>>>;
  /** Names and types to look for in the catalogue instead of the usual ones. */
  readonly serviceTypes: Readonly<Partial<Record<ServiceName, string>>>;
  readonly serviceNames: Readonly<Partial<Record<ServiceName, string>>>;
  readonly imageFormat: string;
  /** Who gives floating IPs; `none`: the cloud has none. */
  readonly floatingIpSource: 'neutron' | 'none';
  readonly hasNetwork: boolean;
  /** Servers are reached by their private addresses. */
  readonly isPrivate: boolean;
  readonly forceIpv4: boolean;
  readonly useExternalNetwork: boolean;
  readonly useInternalNetwork: boolean;
  readonly networks: readonly NetworkHint[];
  /** Shortest time between two lists of servers; `undefined`: not said. */
  readonly serverListMs: number | undefined;
  /** What names of calls in statsd begin with, beside those of Nodepool; `undefined`: there are no others. */
  readonly metricsPrefix: string | undefined;
}

/** The files of clouds, merged: what `clouds.yaml`, `secure.yaml` and `clouds-public.yaml` say. */
export interface CloudFiles {
  readonly clouds: JsonObject;
  readonly publicClouds: JsonObject;
  /** Keys outside of the clouds: `cache`, `client`, `metrics`. */
  readonly top: JsonObject;
  /** The files that were read, in reading order. */
  readonly files: readonly string[];
}
