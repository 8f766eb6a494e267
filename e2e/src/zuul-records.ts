import { randomUUID } from 'node:crypto';

/** Everything under a node or request key; kept as it is when written back. */
export interface Body {
  [key: string]: unknown;
  state: string;
  state_time: number;
}

/** A request as it is in ZooKeeper. */
export interface RequestBody extends Body {
  node_types: string[];
  nodes?: string[];
  declined_by?: string[];
  relative_priority: number;
}

/** A node as it is in ZooKeeper. */
export interface NodeBody extends Body {
  type: string[];
  allocated_to: string | null;
  provider: string | null;
  pool: string | null;
  interface_ip: string | null;
  connection_port: number;
  host_keys: string[];
  hostname: string | null;
  slot: number | null;
}

/** A body and the version it has. */
export interface Versioned<T> {
  body: T;
  version: number;
}

/** Seconds since the UNIX epoch, as times are kept in ZooKeeper. */
export const nowSeconds = (): number => Date.now() / 1000;

/** Reads a body. */
export function parseBody<T extends Body>(data: Buffer): T {
  return JSON.parse(data.toString('utf8')) as T;
}

/** What can be said when asking for nodes. */
export interface SubmitOptions {
  /** 100 high, 200 normal, 300 low. Default: 200. */
  priority?: number;
  /** Smaller is served first. Default: 0. */
  relativePriority?: number;
  /** Provider wanted. Default: any. */
  provider?: string | null;
  tenant?: string;
  /** More keys for the body. */
  extra?: Record<string, unknown>;
}

/** A random id, as Zuul writes them. */
export const uuidHex = (): string => randomUUID().replaceAll('-', '');

/** Where a request lies. */
export const requestPath = (id: string): string => `/nodepool/requests/${id}`;

/** Where a node lies. */
export const nodePath = (id: string): string => `/nodepool/nodes/${id}`;

/** The body of a new request, with the keys that Zuul's scheduler writes. @param systemId - who asks */
export function newRequestBody(labels: string[], options: SubmitOptions, systemId: string): RequestBody {
  const tenant = options.tenant ?? 'tenant-one';
  return {
    requestor_data: {
      build_set_uuid: uuidHex(),
      tenant_name: tenant,
      pipeline_name: 'check',
      job_uuid: uuidHex(),
      job_name: 'test-job',
      span_info: null,
    },
    node_types: labels,
    requestor: systemId,
    created_time: nowSeconds(),
    provider: options.provider ?? null,
    state: 'requested',
    state_time: nowSeconds(),
    relative_priority: options.relativePriority ?? 0,
    event_id: uuidHex(),
    tenant_name: tenant,
    ...options.extra,
  };
}
