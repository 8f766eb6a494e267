/** Numbers by name. */
export type Counts = Readonly<Record<string, number>>;

export interface Provider {
  readonly name: string;
  readonly driver: string | null;
  readonly state: string;
  readonly error: string | null;
  readonly nodes: Counts;
  readonly limits: Counts | null;
  readonly used: Counts | null;
  readonly max_servers: number | null;
  readonly api: { readonly calls_per_minute: number; readonly failed_last_hour: number };
}

export interface Pool {
  readonly provider: string;
  readonly pool: string;
  readonly hostname: string;
  readonly labels: readonly string[];
  readonly paused: boolean;
  readonly own: boolean;
  readonly handling: number | null;
  readonly waiting: number | null;
  readonly max_servers: number | null;
  readonly used: Counts | null;
  readonly reservations: readonly { readonly request: string; readonly need: Counts }[] | null;
}

export interface Label {
  readonly label: string;
  readonly ready: number;
  readonly building: number;
  readonly in_use: number;
  readonly hold: number;
  readonly waiting: number;
  readonly min_ready: number | null;
  readonly pools: readonly string[];
  /** Seconds; `null`: not known. */
  readonly usual_wait: number | null;
  readonly takes_ssh_key: boolean;
  /** Missing: launchers of an earlier version lend all labels. */
  readonly lendable?: boolean;
}

/** What a token allows, as `/api/v1/lease-rights` answers it. */
export interface LeaseRights {
  readonly name: string;
  readonly owner: string;
  /** Patterns, with `*` for any characters. */
  readonly labels: readonly string[];
  /** Seconds; `null`: no limit. */
  readonly max_ttl: number | null;
  readonly max_nodes: number | null;
  readonly admin: boolean;
  /** Whether it may write everything else as well. */
  readonly operator: boolean;
}

/** A machine of an active lease. */
export interface LeasedNode {
  readonly id: string;
  readonly label: string;
  readonly host: string | null;
  readonly port: number | null;
  readonly username: string | null;
  readonly connection_type: string;
  readonly known_hosts: readonly string[];
  /** Missing: the launcher is of an older release. */
  readonly certificate?: string | null;
  readonly certificate_expires?: number | null;
  readonly certificate_problem?: string | null;
  readonly provider: string | null;
  readonly pool: string | null;
}

/** A lease as `/api/v1/leases` lists it. */
export interface Lease {
  readonly id: string;
  readonly state: string;
  readonly owner: string;
  readonly labels: readonly string[];
  readonly reason: string;
  readonly created_time: number;
  readonly state_time: number;
  /** Seconds. */
  readonly ttl: number;
  readonly expires: number | null;
  readonly gives_up: number | null;
  readonly nodes: readonly LeasedNode[];
  readonly request: string | null;
  readonly end_reason: string | null;
}

/** One lease as `/api/v1/leases/ID` answers it. */
export interface LeaseDetail extends Lease {
  /** While it waits: the number of requests ahead of it; `null`: it is being served. */
  readonly position?: number | null;
  readonly explanation?: RequestDetail['explanation'];
}

export interface RequestLine {
  readonly id: string;
  readonly state: string;
  readonly labels: readonly string[];
  readonly position: number | null;
  readonly tenant_name: string | null;
  readonly created_time: number | null;
  readonly why: string;
}

export interface Launches {
  readonly ready: number;
  readonly failed: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly minutes: readonly { readonly time: number; readonly ready: number; readonly failed: number }[];
}

export interface Image {
  readonly name: string;
  readonly paused: boolean;
  readonly pause_reason?: string | null;
  readonly build_requested_time: number | null;
  readonly builds: readonly {
    readonly id: string;
    readonly state: string;
    readonly state_time: number;
    readonly formats: readonly string[];
    readonly canary?: string | null;
    /** Missing from services of before, like the two below and `tested`: why it began. */
    readonly reason?: string | null;
    /** Seconds. */
    readonly duration?: number | null;
    /** Bytes by format. */
    readonly sizes?: Readonly<Record<string, number>> | null;
    readonly uploads: readonly {
      readonly id: string;
      readonly provider: string;
      readonly state: string;
      readonly tested?: boolean | null;
      /** Missing from services of before: whether new launches use it. */
      readonly serves?: boolean;
    }[];
  }[];
}

/** An order of an operator. */
export interface Control {
  readonly kind: string;
  readonly name: string;
  readonly mode: string;
  readonly limit: number | null;
  readonly owner: string;
  readonly reason: string;
  readonly created_time: number;
  readonly end_time: number | null;
}

/** Something that is wrong now. */
export interface Condition {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly severity: string;
  readonly reason: string;
  readonly message: string;
  readonly next_step: string;
  readonly since: number;
}

/** A machine that is lent. */
export interface Host {
  readonly provider: string;
  readonly pool: string;
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly labels: readonly string[];
  readonly health: string;
  readonly message: string | null;
  readonly last_check: number | null;
  readonly nodes: readonly { readonly node: string; readonly state: string; readonly user: string | null }[];
}

/** A request as `/api/v1/requests` lists it. */
export interface RequestRecord {
  readonly id: string;
  readonly state: string;
  readonly labels: readonly string[];
  readonly position: number | null;
  readonly requestor: string | null;
  readonly tenant_name: string | null;
  readonly created_time: number | null;
  readonly launch_error: string | null;
  readonly reasons: readonly { readonly text: string }[];
}

export interface Trouble {
  readonly time: number | null;
  readonly provider?: string | null;
  readonly node?: string | null;
  readonly text: string;
}

/** What `/api/v1/overview` answers; builders leave out what only launchers know. */
export interface Overview {
  readonly service: string;
  readonly version: string;
  readonly hostname: string;
  readonly status: string;
  readonly not_ready: readonly string[];
  readonly nodes?: Counts;
  readonly providers?: readonly Provider[];
  readonly pools?: readonly Pool[];
  readonly labels?: readonly Label[];
  readonly controls?: readonly Control[];
  readonly conditions?: readonly Condition[];
  readonly hosts?: { readonly total: number; readonly down: number };
  readonly requests?: {
    readonly waiting: number;
    readonly pending: number;
    /** How many of the shown requests wait for each pool. */
    readonly waits?: readonly { readonly pool: string; readonly count: number }[];
    readonly shown: readonly RequestLine[];
  };
  readonly launches?: Launches;
  readonly images: readonly Image[];
  readonly errors: readonly Trouble[];
}

export interface NodeRecord extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly state: string;
  readonly state_time: number;
  readonly labels: readonly string[];
  readonly provider: string | null;
  readonly pool: string | null;
}

export interface RequestDetail {
  readonly request: Readonly<Record<string, unknown>> & {
    readonly id: string;
    readonly state: string;
    readonly nodes: readonly string[];
  };
  readonly explanation: {
    readonly summary: string;
    readonly pools: readonly {
      readonly provider: string;
      readonly pool: string;
      readonly action: string;
      readonly rule: string | null;
      readonly text: string;
      readonly remedy: string;
    }[];
    readonly launches: readonly { readonly node: string; readonly state: string; readonly error: string | null }[];
  };
}

/** What `/api/v1/requests/ID/timeline` and `/api/v1/nodes/ID/timeline` answer. */
export interface Timeline {
  readonly state: string;
  /** Of a node. */
  readonly request: string | null;
  readonly nodes: readonly string[];
  readonly created_time: number | null;
  readonly ended_time: number | null;
  readonly intervals: readonly {
    readonly begin_time: number;
    readonly end_time: number | null;
    readonly cause: string;
    readonly text: string;
  }[];
  readonly silent: readonly { readonly url: string; readonly error: string }[];
}
