// The parts of the REST API of Incus and LXD that this driver reads. https://linuxcontainers.org/incus/docs/main/rest-api/

/** Answer to any call that does not return a file. */
export interface ApiAnswer<T> {
  readonly type: 'sync' | 'async' | 'error';
  readonly metadata: T | null;
  readonly error?: string;
  readonly error_code?: number;
}

/** `GET /1.0`. An untrusted client sees no environment. */
export interface ApiServer {
  readonly auth: string;
  readonly api_extensions: readonly string[];
  readonly environment?: {
    readonly server?: string;
    readonly server_version?: string;
    readonly server_clustered?: boolean;
    readonly server_name?: string;
  };
}

/** A background operation. Status codes from 200 on are final. */
export interface ApiOperation {
  readonly id: string;
  readonly status: string;
  readonly status_code: number;
  readonly err: string;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** An instance with its state. */
export interface ApiInstance {
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly project?: string;
  readonly created_at?: string;
  /** Cluster member; `none` without a cluster. */
  readonly location?: string;
  readonly config: Readonly<Record<string, string>>;
  readonly expanded_config?: Readonly<Record<string, string>> | null;
  readonly expanded_devices?: Readonly<Record<string, Readonly<Record<string, string>>>> | null;
  readonly state?: { readonly network?: Readonly<Record<string, ApiNetwork>> | null } | null;
}

/** A network interface inside an instance. */
export interface ApiNetwork {
  readonly hwaddr?: string;
  readonly addresses?: readonly { readonly family: string; readonly address: string; readonly scope: string }[] | null;
}

/** An image. */
export interface ApiImage {
  readonly fingerprint: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly aliases: readonly { readonly name: string }[];
}

/** A cluster member. */
export interface ApiMember {
  readonly server_name: string;
  readonly status: string;
  readonly message?: string;
}

/** Hardware of a server. */
export interface ApiResources {
  readonly cpu: { readonly total: number };
  readonly memory: { readonly total: number };
}

/** One message of the event stream. */
export interface ApiEvent {
  readonly type: string;
  readonly metadata: ApiOperation;
}

/** Whether an operation has ended. */
export function hasEnded({ status_code: code }: ApiOperation): boolean {
  return code >= 200;
}
