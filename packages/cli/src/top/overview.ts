/** Numbers by name. */
export type Counts = Readonly<Record<string, number>>;

/** What `/api/v1/overview` of a launcher says, as far as it is shown. */
export interface Overview {
  readonly hostname: string;
  readonly status: string;
  readonly not_ready: readonly string[];
  readonly nodes: Counts;
  readonly providers: readonly ProviderLine[];
  readonly pools: readonly PoolLine[];
  readonly requests: { readonly waiting: number; readonly pending: number; readonly shown: readonly RequestLine[] };
  readonly errors: readonly ErrorLine[];
  /** Missing: an older launcher. */
  readonly conditions?: readonly ConditionLine[];
}

/** Something that is wrong now. */
export interface ConditionLine {
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly severity: string;
  readonly message: string;
  readonly since: number;
}

/** A provider and how it is. */
export interface ProviderLine {
  readonly name: string;
  readonly state: string;
  readonly error: string | null;
  readonly nodes: Counts;
  readonly local: boolean;
  readonly api: { readonly calls_per_minute: number; readonly failed_last_hour: number };
}

/** A pool; its figures are told by its own launcher alone. */
export interface PoolLine {
  readonly provider: string;
  readonly pool: string;
  readonly hostname: string;
  readonly paused: boolean;
  readonly own: boolean;
  readonly handling: number | null;
  readonly waiting: number | null;
  readonly max_servers: number | null;
  readonly used: Counts | null;
  readonly provider_used: Counts | null;
  readonly provider_limits: Counts | null;
}

/** A request that is not fulfilled, and why. Times are UNIX times in seconds. */
export interface RequestLine {
  readonly id: string;
  readonly state: string;
  readonly labels: readonly string[];
  readonly created_time: number | null;
  readonly why: string;
}

/** Something that went wrong. */
export interface ErrorLine {
  readonly time: number | null;
  readonly provider?: string | null;
  readonly node?: string | null;
  readonly text: string;
}

/** A node that is being made. */
export interface LaunchLine {
  readonly id: string;
  readonly provider: string | null;
  readonly pool: string | null;
  readonly labels: readonly string[];
  readonly state_time: number;
  readonly launch_error: string | null;
}

/** Whether an answer is the overview of a launcher. */
export function isOverview(value: unknown): value is Overview {
  if (typeof value !== 'object' || value === null) return false;
  const { nodes, providers, pools, requests, errors } = value as Record<string, unknown>;
  return (
    Array.isArray(providers) && Array.isArray(pools) && Array.isArray(errors) && Boolean(nodes) && Boolean(requests)
  );
}
