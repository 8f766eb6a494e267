/** State of a lease. */
export type LeaseState = 'waiting' | 'active' | 'ended' | 'failed';

/** A node of a lease. `null`: the machine has none, or it is not known. */
export interface LeasedNode {
  readonly id: string;
  /** The label that was asked for. */
  readonly label: string;
  /** All labels of the node. */
  readonly labels: readonly string[];
  readonly host: string | null;
  readonly port: number | null;
  readonly username: string | null;
  /** `ssh` unless the label says otherwise. */
  readonly connectionType: string;
  /** Lines for a `known_hosts` file. */
  readonly knownHosts: readonly string[];
  readonly hostKeys: readonly string[];
  /** A kubeconfig file for a node that kubectl reaches, with its token. */
  readonly kubeconfig: string | null;
  /** SSH certificate for the key of the lease, one line. It is valid for minutes: a renewal brings a fresh one. */
  readonly certificate: string | null;
  /** Until when the certificate may log in, by the clock of the server. */
  readonly certificateExpires: Date | null;
  /** Why there is no certificate although the machine takes one. */
  readonly certificateProblem: string | null;
  readonly provider: string | null;
  readonly pool: string | null;
  readonly cloud: string | null;
  readonly region: string | null;
  readonly zone: string | null;
  readonly hostname: string | null;
  readonly interfaceIp: string | null;
  readonly publicIpv4: string | null;
  readonly privateIpv4: string | null;
  readonly publicIpv6: string | null;
  readonly hostId: string | null;
  readonly externalId: unknown;
  /** Number of the slot on a machine of several nodes. */
  readonly slot: number | null;
  readonly pythonPath: string | null;
  readonly shellType: string | null;
  readonly attributes: unknown;
}

/** A lease as the server describes it. */
export interface LeaseInfo {
  readonly id: string;
  readonly state: LeaseState;
  readonly owner: string;
  readonly labels: readonly string[];
  readonly reason: string;
  readonly priority: number;
  readonly createdTime: Date;
  /** When it was last changed. */
  readonly stateTime: Date;
  /** Time to live once it is active. */
  readonly ttlMs: number;
  /** When an active lease expires, by the clock of the server. */
  readonly expires: Date | null;
  /** When a waiting lease ends unserved; `null`: never. */
  readonly givesUp: Date | null;
  /** Of an active lease. */
  readonly nodes: readonly LeasedNode[];
  /** Id of the request of a waiting lease. */
  readonly request: string | null;
  /** Why it ended or failed. */
  readonly endReason: string | null;
  /** Number of requests ahead of a waiting lease; `null`: a pool has accepted it, or it is not known. */
  readonly position: number | null;
  /** One line: what a waiting lease waits for. */
  readonly summary: string | null;
  /** Explanation of each pool for a waiting lease, as `nodepool explain --json` prints it. */
  readonly explanation: Readonly<Record<string, unknown>> | null;
}

type Fields = Readonly<Record<string, unknown>>;

const toDate = (seconds: unknown): Date | null => (typeof seconds === 'number' ? new Date(seconds * 1000) : null);

const camelCase = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function nodeFrom(fields: Fields): LeasedNode {
  const missing = { labels: [fields['label']], hostKeys: [], cloud: null, region: null, interfaceIp: null, slot: null };
  const named = Object.entries(fields).map(([name, value]) => [camelCase(name), value] as const);
  return {
    ...missing,
    hostId: null,
    externalId: null,
    ...{ kubeconfig: null, certificate: null, certificateProblem: null },
    ...Object.fromEntries(named),
    certificateExpires: toDate(fields['certificate_expires']),
  } as unknown as LeasedNode;
}

/** Reads an answer of the server. Members of a later version are left out, except those of nodes. */
export function leaseFrom(answer: Fields): LeaseInfo {
  const { explanation = null, position = null, nodes, ttl } = answer;
  const { id, state, owner, labels, reason, priority, request } = answer as unknown as LeaseInfo;
  return {
    ...{ id, state, owner, labels, reason, priority, request },
    createdTime: toDate(answer['created_time']) ?? new Date(0),
    stateTime: toDate(answer['state_time']) ?? new Date(0),
    ttlMs: Number(ttl) * 1000,
    expires: toDate(answer['expires']),
    givesUp: toDate(answer['gives_up']),
    nodes: (nodes as Fields[]).map(nodeFrom),
    endReason: answer['end_reason'] as string | null,
    position: position as number | null,
    summary: ((explanation as Fields | null)?.['summary'] ?? null) as string | null,
    explanation: explanation as Fields | null,
  };
}
