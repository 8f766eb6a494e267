/** Numbers by name. */
export type Counts = Readonly<Record<string, number>>;

/** The part of a launcher's `/api/v1/overview` that is shown. */
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

/** A provider and its state. */
export interface ProviderLine {
  readonly name: string;
  readonly state: string;
  readonly error: string | null;
  readonly nodes: Counts;
  readonly local: boolean;
  readonly api: { readonly calls_per_minute: number; readonly failed_last_hour: number };
}

/** A pool; only its own launcher knows the figures. */
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

/** A recent error. */
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

/** The last answer of one launcher. */
export interface LauncherView {
  readonly url: string;
  /** `undefined`: it has never answered. */
  readonly overview: Overview | undefined;
  readonly launches: readonly LaunchLine[];
  /** Why it does not answer now, and since when; `undefined`: it does. */
  readonly lost: { readonly sinceMs: number; readonly why: string } | undefined;
}

/** The answers of all launchers at one moment. */
export interface Snapshot {
  readonly nowMs: number;
  readonly launchers: readonly LauncherView[];
  /** Problem of the connection to ZooKeeper, if there is one. */
  readonly zooKeeperTrouble: string | undefined;
}

/** The merged answers of all launchers. */
export interface Joined {
  readonly nodes: Readonly<Record<string, number>>;
  readonly providers: readonly ProviderLine[];
  readonly pools: readonly PoolLine[];
  readonly waiting: number;
  readonly pending: number;
  readonly requests: readonly RequestLine[];
  readonly launches: readonly LaunchLine[];
  readonly conditions: readonly ConditionLine[];
  readonly errors: readonly ErrorLine[];
}

/** Merges the answers: each launcher knows its own pools and providers best; all know all nodes and requests. */
export function join({ launchers }: Snapshot): Joined {
  const answering = launchers.filter(({ lost, overview }) => overview && !lost);
  const views = (answering.length > 0 ? answering : launchers).flatMap(({ overview, launches }) =>
    overview ? [{ overview, launches }] : [],
  );
  const first = views[0]?.overview;
  const overviews = views.map(({ overview }) => overview);
  return {
    nodes: first?.nodes ?? {},
    providers: best(
      overviews.flatMap(({ providers }) => providers),
      ({ name }) => name,
      ({ local }) => local,
    ),
    pools: best(
      overviews.flatMap(({ pools }) => pools),
      ({ provider, pool, hostname }) => `${provider}/${pool} ${hostname}`,
      ({ own }) => own,
    ),
    waiting: first?.requests.waiting ?? 0,
    pending: first?.requests.pending ?? 0,
    requests: best(
      overviews.flatMap(({ requests }) => requests.shown),
      ({ id }) => id,
      isFromDecidingLauncher,
    ),
    launches: [...new Map(views.flatMap(({ launches }) => launches).map((launch) => [launch.id, launch])).values()],
    conditions: best(
      overviews.flatMap(({ conditions }) => conditions ?? []),
      ({ kind, name, type }) => `${kind} ${name} ${type}`,
      () => true,
    ),
    errors: unique(overviews.flatMap(({ errors }) => errors)),
  };
}

/** Whether the reason is from the launcher that decides. */
function isFromDecidingLauncher({ why }: RequestLine): boolean {
  return !/another launcher|not answered yet/.test(why);
}

/** One item per key: the first good one, else the first. */
function best<T>(items: readonly T[], keyOf: (item: T) => string, isGood: (item: T) => boolean): T[] {
  const found = new Map<string, T>();
  for (const item of items) {
    const known = found.get(keyOf(item));
    if (known === undefined || (!isGood(known) && isGood(item))) found.set(keyOf(item), item);
  }
  return [...found.values()];
}

function unique(errors: readonly ErrorLine[]): ErrorLine[] {
  return [...new Map(errors.map((error) => [`${error.node ?? ''} ${error.text}`, error])).values()];
}
