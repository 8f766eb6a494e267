import { isBacking, type InvariantChecker } from '@nodepool/core/testing';
import { checkClosedProvider } from './calm/closed-provider.js';
import { checkStarvation } from './calm/starvation.js';
import { drawFaults, type FaultName } from './world/faults.js';
import { OF_LEASES, Scenario } from './scenario.js';
import { cacheProblems } from './world/cache-check.js';
import { Violation } from './world/violation.js';
import { World, type Faults } from './world/world.js';
import type { LaunchCounts } from './world/launch-tally.js';

/** Result of a run. */
export interface RunResult {
  readonly seed: number;
  /** Empty: the run passed. */
  readonly violations: readonly string[];
  /** Trace of the run, if requested. */
  readonly trace: readonly string[];
  readonly steps: number;
  readonly transactions: number;
  readonly fulfilled: number;
  readonly failed: number;
  /** Leases that became active. */
  readonly leases: number;
  /** Where only launchers fail. */
  readonly launches: LaunchCounts | undefined;
  /** Virtual time. */
  readonly elapsedMs: number;
}

/** Limit of the virtual time to settle after faults have ended. */
const SETTLE_LIMIT_MS = 3_600_000;
/** Maximum age of cloud limits cached by a launcher. */
const LIMITS_LIFE_MS = 310_000;
const PROBE_LIMIT_MS = 600_000;
/** After this time, disconnected and stalled processes are back. */
const CALM_MS = 60_000;
const LOOK_EVERY_MS = 2_000;
const DRAIN_LIMIT_MS = 120_000;
/** Faults and acts that mean nothing without a feature. */
const FAULTS_OF: Readonly<Record<string, readonly FaultName[]>> = {
  'hold-orders': ['orders'],
  drains: ['orders'],
  'stopped-spares': ['stopped-spares'],
  leases: ['lessees', ...OF_LEASES],
};
/** Share of the runs with a fault that is checked at rest that have the check: each adds two minutes of virtual time. */
const CALM_CHECKS_SHARE = 0.3;

/** Options of {@link simulate}. */
export interface RunOptions {
  /** Default: false. */
  readonly trace?: boolean;
  /** What fails: everything, or launchers only. Default: everything. */
  readonly faults?: Faults;
  /** These faults, whatever the seed draws. Default: what it draws. */
  readonly only?: readonly FaultName[];
  /** A feature that launchers do not have, and that is not asked for. Default: they have all. */
  readonly without?: string;
}

/** Runs one seed. The same seed gives the same run, with or without a trace. */
export async function simulate(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const { trace = false, faults = 'all', only, without } = options;
  const world = new World(seed, trace, undefined, faults);
  world.without = without;
  const drawn = [...drawFaults(seed, faults === 'launchers', only)];
  world.drawn = new Set(drawn.filter((name) => !FAULTS_OF[without ?? '']?.includes(name)));
  world.trace.add('scenario', () => `faults: ${[...world.drawn].join(', ')}`);
  try {
    const scenario = new Scenario(world);
    scenario.begin();
    await world.run(world.random.between(10_000, 45_000));
    world.trace.add('scenario', 'no more faults and no more requests');
    scenario.end();
    await world.run(CALM_MS);
    await settle(world, scenario);
    if (world.violations.length === 0 && without !== 'drains') await drain(world, scenario);
    if (world.violations.length === 0) await probe(world, scenario);
    for (const check of [checkStarvation, checkClosedProvider]) {
      if (world.violations.length > 0 || !isChecked(world) || !(await check(world, scenario))) continue;
      await settle(world, scenario);
    }
    return {
      seed,
      violations: world.violations.map(({ message }) => message),
      trace: world.trace.lines,
      steps: world.steps,
      transactions: world.checker.transactions,
      fulfilled: world.checker.fulfilled,
      failed: world.checker.failed,
      leases: world.leases.served,
      elapsedMs: world.elapsedMs,
      launches: world.launches?.counts,
    };
  } finally {
    world.restore();
  }
}

/** Whether to make the next check at rest. Always if the run has its fault alone. */
function isChecked({ drawn, random }: World): boolean {
  return drawn.size === 1 || random.chance(CALM_CHECKS_SHARE);
}

async function settle(world: World, scenario: Scenario): Promise<void> {
  let problems = ['not looked at yet'];
  const endMs = world.elapsedMs + SETTLE_LIMIT_MS;
  while (problems.length > 0 && world.elapsedMs < endMs && world.violations.length === 0) {
    await world.run(LOOK_EVERY_MS);
    if (scenario.maxHoldAgeMs === 0) void scenario.operator.clearHeld();
    problems = unsettled(world, scenario);
    for (const problem of world.leases.overdue()) world.violate(new Violation(problem));
  }
  if (world.violations.length > 0) return;
  for (const problem of problems) world.violate(new Violation(`does not settle: ${problem}`));
  if (problems.length > 0) explain(world, scenario);
}

/** Adds the launchers' explanations of remaining requests to the trace. */
function explain(world: World, scenario: Scenario): void {
  for (const requestId of world.checker.requests.keys()) {
    for (const { name, running } of scenario.launchers) {
      for (const { provider, pool, action, text } of running?.explain({ requestId })?.pools ?? []) {
        world.trace.add(name, `${requestId} ${provider}/${pool}: ${action}, ${text}`);
      }
    }
  }
  for (const { id, state, body } of world.checker.nodes.values()) {
    const { pool, hostname, slot, type } = body;
    world.trace.add('checker', () => `node ${id} is ${state}: ${JSON.stringify({ pool, hostname, slot, type })}`);
  }
}

/** Checks that a drained provider loses its ready nodes and gets no new ones. */
async function drain(world: World, { orders }: Scenario): Promise<void> {
  orders.drainOne();
  await world.run(DRAIN_LIMIT_MS, () => orders.undrained().length === 0);
  await world.run(CALM_MS);
  for (const problem of orders.undrained()) world.violate(new Violation(`is not drained: ${problem}`));
  orders.end();
}

/** Checks that ordinary requests are served after all faults. */
async function probe(world: World, scenario: Scenario): Promise<void> {
  const orphans = orphanedLocks(world.checker);
  await world.run(LIMITS_LIFE_MS);
  for (const [root, entries] of orphans) {
    if (world.checker.locks.get(root) === entries) world.violate(new Violation(`${root} is left over`));
  }
  const before = world.checker.fulfilled;
  const count = scenario.probe();
  await world.run(PROBE_LIMIT_MS, () => world.checker.fulfilled >= before + count);
  if (world.checker.fulfilled < before + count && world.violations.length === 0) {
    world.violate(new Violation(`${world.checker.fulfilled - before} of ${count} ordinary requests served in time`));
    explain(world, scenario);
  }
  await settle(world, scenario);
}

/** Differences from the state that is expected when no request is open. */
function unsettled(world: World, scenario: Scenario): string[] {
  const { checker } = world;
  const problems: string[] = [];
  for (const launcher of scenario.launchers) {
    const missing = [
      ...(launcher.running?.notReady ?? ['it does not run']),
      ...(launcher.running ? cacheProblems(launcher.running, world) : []),
      ...launcher.configProblems,
    ];
    if (missing.length > 0) problems.push(`${launcher.name}: ${missing.join(', ')}`);
  }
  for (const { id, state } of checker.requests.values()) problems.push(`request ${id} is ${state}`);
  problems.push(...world.leases.leftovers());
  for (const { active } of scenario.lessees) if (active > 0) problems.push(`${active} lessees have not ended`);
  for (const client of scenario.clients) if (client.active > 0) problems.push(`${client.active} jobs have not ended`);
  for (const node of checker.nodes.values()) {
    if (node.allocatedTo !== null && !isBacking(node))
      problems.push(`node ${node.id} (${node.state}) is allocated to ${node.allocatedTo}`);
  }
  for (const [root, entries] of checker.locks) {
    if (entries.size > 0 && isLockOfBacking(root, checker)) continue;
    if (entries.size > 0) problems.push(`${root} has ${entries.size} entries`);
  }
  for (const fleet of scenario.fleets) problems.push(...fleet.unsettled(checker));
  problems.push(...wrongComponents(world, scenario));
  return problems;
}

/** Lock directories of deleted requests, with their entries. */
function orphanedLocks({ locks, requests }: InvariantChecker): [root: string, entries: object][] {
  const isOrphan = (root: string) => !requests.has(root.slice(root.lastIndexOf('/') + 1));
  return [...locks].filter(([root]) => root.startsWith('/nodepool/requests-lock/') && isOrphan(root));
}

/** A metastatic provider keeps its nodes locked. */
function isLockOfBacking(root: string, checker: InvariantChecker): boolean {
  const node = checker.nodes.get(/^\/nodepool\/nodes\/(\d+)\/lock$/.exec(root)?.[1] ?? '');
  return node !== undefined && isBacking(node);
}

function wrongComponents(world: World, scenario: Scenario): string[] {
  const problems: string[] = [];
  const sessions = new Map(scenario.launchers.map(({ process, name }) => [process?.zk.sessionId ?? 0n, name]));
  const counts = new Map<string, number>();
  for (const [path, session] of world.checker.components) {
    const name = sessions.get(session);
    if (name === undefined) problems.push(`${path} is of a session that is over`);
    else counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const { name, spec } of scenario.launchers) {
    const pools = spec.providers.reduce((sum, { pools }) => sum + (Array.isArray(pools) ? pools.length : 0), 0);
    if (counts.get(name) !== pools + 1)
      problems.push(`${name} has ${counts.get(name) ?? 0} components, not ${pools + 1}`);
  }
  return problems;
}
