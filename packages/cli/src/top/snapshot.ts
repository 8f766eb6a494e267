import type {
  ConditionLine,
  ErrorLine,
  LaunchLine,
  Overview,
  PoolLine,
  ProviderLine,
  RequestLine,
} from './overview.js';

/** What one launcher said last. */
export interface LauncherView {
  readonly url: string;
  /** `undefined`: it has never answered. */
  readonly overview: Overview | undefined;
  readonly launches: readonly LaunchLine[];
  /** Why it does not answer now, and since when; `undefined`: it does. */
  readonly lost: { readonly sinceMs: number; readonly why: string } | undefined;
}

/** Everything that is shown at one moment. */
export interface Snapshot {
  readonly nowMs: number;
  readonly launchers: readonly LauncherView[];
  /** What is wrong with the connection to ZooKeeper; `undefined`: nothing. */
  readonly zooKeeperTrouble: string | undefined;
}

/** The same of all launchers together. */
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

/** Puts together what launchers say: each knows its own pools and providers best, and all know all nodes and requests. */
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
      isFirstHand,
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

/** Whether the launcher that said so is the one that decides. */
function isFirstHand({ why }: RequestLine): boolean {
  return !/another launcher|not answered yet/.test(why);
}

/** One of each key: the first that is told at first hand, else the first. */
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
