// The parts of Compute Engine's messages that this driver reads; `fields` of the calls select the same parts.

/** An instance. */
export interface ApiInstance {
  readonly name: string;
  /** URL. */
  readonly zone: string;
  readonly status: string;
  /** URL. */
  readonly machineType: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: { readonly items?: readonly { readonly key: string; readonly value?: string }[] };
  readonly networkInterfaces?: readonly ApiInterface[];
  readonly scheduling?: { readonly provisioningModel?: string };
}

/** A network interface of an instance. */
export interface ApiInterface {
  readonly networkIP?: string;
  readonly ipv6Address?: string;
  readonly accessConfigs?: readonly { readonly natIP?: string }[];
  readonly ipv6AccessConfigs?: readonly { readonly externalIpv6?: string }[];
}

/** A disk. */
export interface ApiDisk {
  readonly name: string;
  /** URL. */
  readonly zone: string;
  /** URL. */
  readonly type?: string;
  readonly sizeGb?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** URLs of the instances it is attached to. */
  readonly users?: readonly string[];
}

/** A long-running operation. */
export interface ApiOperation {
  readonly name: string;
  readonly status: string;
  readonly operationType?: string;
  readonly error?: { readonly errors?: readonly { readonly code?: string; readonly message?: string }[] };
  readonly httpErrorStatusCode?: number;
}

/** A quota of a region or a project. */
export interface ApiQuota {
  readonly metric: string;
  readonly limit: number;
  readonly usage: number;
}

/** A region. */
export interface ApiRegion {
  /** URLs. */
  readonly zones: readonly string[];
  readonly quotas?: readonly ApiQuota[];
}

/** A machine type. */
export interface ApiMachineType {
  readonly guestCpus: number;
  readonly memoryMb: number;
}

/** A page of a list. */
export interface ApiPage<Item> {
  readonly items?: readonly Item[];
  readonly nextPageToken?: string;
}

/** A page of a list of all zones, by zone. */
export interface ApiScopes<Scope> {
  readonly items?: Readonly<Record<string, Scope>>;
  /** Paths of zones that did not answer. */
  readonly unreachables?: readonly string[];
  readonly nextPageToken?: string;
}

/** The last part of a URL: the name of the resource. */
export function nameOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
