/** How much earlier than promised a lease, or a hold, may end. */
export const TOLERANCE_MS = 2_500;
/** A lease begins by the agreed time, which launchers know by writes to ZooKeeper of up to 100 ms each, or more when all are slow. */
const CLOCK_MS = 250;

/** What was seen from outside; times in milliseconds since the UNIX epoch. */
export type Fact = { readonly ms: number } & (
  | { readonly kind: 'cloud'; readonly machine: string; readonly status: string }
  | Promised
  | Released
  | { readonly kind: 'over'; readonly user: string; readonly endMs: number; readonly why: string }
  | { readonly kind: 'strike'; readonly launcher: string; readonly what: string }
);

/** A user, which is a lease or a job, was told that machines are its own. */
interface Promised {
  readonly kind: 'promise';
  readonly user: string;
  readonly machines: readonly string[];
  readonly fromMs: number;
  /** `Infinity`: until the user returns them. */
  readonly untilMs: number;
  /** Of a renewal: what was asked for. */
  readonly leastMs?: number;
}

/** A user began to return its machines. */
interface Released {
  readonly kind: 'release';
  readonly user: string;
  /** End of an order to hold them. */
  readonly heldUntilMs?: number;
}

/** What must not happen. */
export interface Violation {
  readonly user: string;
  readonly machine: string | undefined;
  readonly text: string;
}

type CloudFact = Extract<Fact, { kind: 'cloud' }>;

/** Promises that were broken; of each user and machine the first violation. */
export function findViolations(facts: readonly Fact[]): Violation[] {
  const releases = new Map(facts.flatMap((fact) => (fact.kind === 'release' ? [[fact.user, fact] as const] : [])));
  const events = new Map<string, CloudFact[]>();
  for (const fact of facts) {
    if (fact.kind === 'cloud') events.set(fact.machine, [...(events.get(fact.machine) ?? []), fact]);
  }
  const overs = facts.filter((fact) => fact.kind === 'over');
  const owners = new Map<string, string>();
  const found = new Map<string, Violation>();
  const add = (user: string, machine: string | undefined, texts: readonly string[]) => {
    const key = `${user} ${machine}`;
    for (const text of texts) if (!found.has(key)) found.set(key, { user, machine, text });
  };
  const first = new Map<string, Promised>();
  for (const promise of facts) {
    if (promise.kind !== 'promise') continue;
    const { user, machines, untilMs } = promise;
    // a return counts from when it began, and a hold begins with it
    const { ms: returnedMs = Infinity, heldUntilMs = 0 } = releases.get(user) ?? {};
    const endMs = Math.min(untilMs - TOLERANCE_MS, Math.max(returnedMs, heldUntilMs - TOLERANCE_MS));
    for (const machine of machines) {
      const owner = owners.get(machine) ?? user;
      owners.set(machine, owner);
      if (owner !== user) add(user, machine, [`${machine} was given to ${owner} and to ${user}`]);
      add(user, machine, whatBefell(machine, events.get(machine) ?? [], promise, endMs));
    }
    const before = first.get(user) ?? promise;
    first.set(user, before);
    add(user, undefined, notKept(promise, before, promise.ms < endMs));
    // the end of a lease is stamped by the clock of the server, as a launcher follows it
    const isEarly = (overMs: number) => overMs < Math.min(endMs, returnedMs - TOLERANCE_MS);
    const early = overs.find((over) => over.user === user && isEarly(over.endMs));
    if (early) add(user, undefined, [`${user} was over ${secondsTo(endMs, early.endMs)} before the end: ${early.why}`]);
  }
  return [...found.values()];
}

/** It did not run when it was given, or was stopped or deleted before the end. */
function whatBefell(
  machine: string,
  events: readonly CloudFact[],
  { user, fromMs, ...promise }: Promised & Pick<Fact, 'ms'>,
  endMs: number,
): string[] {
  const givenMs = Math.min(promise.ms, fromMs + CLOCK_MS);
  const atStart = events.findLast(({ ms }) => ms <= givenMs)?.status ?? 'unknown';
  const bad = events.find(({ ms, status }) => ms > fromMs && ms < endMs && status !== 'active');
  const texts = bad ? [`${machine} of ${user} was ${bad.status} ${secondsTo(endMs, bad.ms)} before the end`] : [];
  if (atStart !== 'active') texts.push(`${machine} was ${atStart} when ${user} got it`);
  return texts;
}

/** The user has other machines than at first, before its end, or a renewal was answered that renews nothing. */
function notKept(
  { user, machines, untilMs, leastMs = untilMs }: Promised,
  first: Promised,
  isDuring: boolean,
): string[] {
  const [now, then] = [machines.join(), first.machines.join()];
  const texts = now === then || !isDuring ? [] : [`${user} had ${then} and then ${now || 'none'}`];
  if (untilMs + TOLERANCE_MS < leastMs) texts.push(`the renewal of ${user} lacks ${(leastMs - untilMs) / 1000} s`);
  return texts;
}

/** Without the tolerance that an end has. */
const secondsTo = (endMs: number, ms: number) => `${((endMs + TOLERANCE_MS - ms) / 1000).toFixed(1)} s`;

/** What happened to the user and the machines of a violation, with the strikes meanwhile, in order. */
export function storyOf({ user, machine, text }: Violation, facts: readonly Fact[]): string {
  const machines = new Set(facts.flatMap((fact) => ('machines' in fact && fact.user === user ? fact.machines : [])));
  if (machine !== undefined) machines.add(machine);
  const isTold = (fact: Fact) =>
    (fact.kind === 'cloud' && machines.has(fact.machine)) ||
    (fact.kind === 'promise' && fact.machines.some((each) => machines.has(each))) ||
    ('user' in fact && fact.user === user);
  const times = facts.filter(isTold).map(({ ms }) => ms);
  const [fromMs, toMs] = [Math.min(...times), Math.max(...times)];
  const isMeanwhile = ({ kind, ms }: Fact) => kind === 'strike' && ms >= fromMs && ms <= toMs;
  const told = facts.filter((fact) => isTold(fact) || isMeanwhile(fact)).toSorted((a, b) => a.ms - b.ms);
  return [text, ...told.map(({ ms, ...fact }) => `  ${new Date(ms).toISOString()} ${JSON.stringify(fact)}`)].join('\n');
}
