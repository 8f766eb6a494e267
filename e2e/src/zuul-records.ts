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
