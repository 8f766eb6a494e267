import type { RequestEntry } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import { Violation } from '../world/violation.js';
import type { SimulatedLauncher } from './launcher.js';
import type { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';

/** A stalled process may not have seen pools that are younger than this when it fails a request. */
const NEWS_MS = 20_000;
/** A pool that left this recently may return: its launcher gets a new session. */
const RETURN_MS = 20_000;
/** Time that a new launcher gives others to register. */
const SETTLING_MS = 10_000;
/** An event, and the read of the record that it tells of, take as long: no launcher has seen a record that is gone by then. */
const READ_MS = 20;
/** After this time a reload is in force, even if providers start slowly. */
const RELOAD_MS = 60_000;

/** While a pool is registered, ms of the virtual time. */
interface Stay {
  readonly fromMs: number;
  toMs: number | undefined;
}

/** A pool that is or was registered: it returns after its launcher's session was lost. */
interface Pool {
  readonly process: SimulatedProcess;
  readonly body: JsonObject;
  readonly stay: Stay;
  readonly former: Stay | undefined;
}

/** Checks that no request fails while a pool of a running launcher could serve it and has not declined it. */
export class GivenUp {
  readonly #world: World;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #pools = new Map<string, Pool>();

  constructor(world: World, launchers: readonly SimulatedLauncher[]) {
    this.#world = world;
    this.#launchers = launchers;
    world.checker.watchComponents((path, body, who) => this.#componentChanged(path, body, who));
    world.checker.watchFailures((request, who) => this.#check(request, who));
  }

  #componentChanged(path: string, body: JsonObject | undefined, who: string): void {
    const nowMs = this.#world.elapsedMs;
    const known = this.#pools.get(path);
    if (!body) {
      if (known) known.stay.toMs = nowMs;
      return;
    }
    const process = known?.process ?? this.#launchers.find(({ name }) => name === who)?.process;
    if (body['kind'] !== 'pool' || !process) return;
    for (const [other, pool] of this.#pools) if (isReplaced(pool, process, body)) this.#pools.delete(other);
    const [key, pool] = [...this.#pools].find(([, { body: other }]) => other['id'] === body['id']) ?? [];
    if (key !== undefined) this.#pools.delete(key);
    const isHere = pool && pool.stay.toMs === undefined;
    const stay = isHere ? pool.stay : { fromMs: nowMs, toMs: undefined };
    this.#pools.set(path, { process, body, stay, former: isHere ? pool.former : pool?.stay });
  }

  #check(request: RequestEntry, who: string): void {
    const declinedBy = (request.body['declined_by'] ?? []) as string[];
    const nowMs = this.#world.elapsedMs;
    for (const { process, body, stay, former } of this.#pools.values()) {
      const { id, provider_name: provider, name, supported_labels: labels } = body as Record<string, string>;
      const owner = this.#launchers.find((launcher) => launcher.process === process);
      if (!owner || owner.isStopping || !hasPool(owner, provider, name)) continue;
      if (declinedBy.includes(id ?? '') || !request.labels.every((label) => labels?.includes(label))) continue;
      const isNews = stay.toMs === undefined && owner.name !== who && nowMs - stay.fromMs < NEWS_MS;
      const seen = isNews || this.#hasMissed(who, stay) ? former : stay;
      if (!seen) continue;
      if (seen.toMs !== undefined && (nowMs - seen.toMs > RETURN_MS || this.#cannotKnow(who, seen, request))) continue;
      // the launcher removed and re-added the pool: earlier writes may still be in flight
      if (seen.toMs !== undefined && owner.name === who && isReloading(owner, nowMs)) continue;
      this.#violate(request, who, `${String(id)} of ${owner.name}`);
    }
    const self = this.#launchers.find(({ name }) => name === who);
    if (self && !self.isStopping) this.#checkOwn(request, self, declinedBy);
  }

  /** The launcher was stalled or cut off for as long as the pool was registered, or that was too short to be read. */
  #hasMissed(who: string, { fromMs, toMs }: Stay): boolean {
    const process = this.#launchers.find(({ name }) => name === who)?.process;
    if (toMs === undefined || !process) return false;
    if (toMs - fromMs < READ_MS) return true;
    const aheadMs = process.clock.now() - this.#world.elapsedMs;
    return process.stalledMs(fromMs + aheadMs, toMs + aheadMs) >= toMs - fromMs;
  }

  /**
   * The launcher has read the registry after the pool had left, has not seen it before, and has waited the required time for
   * others (ADR 0017).
   */
  #cannotKnow(who: string, { fromMs, toMs }: Stay, { body }: RequestEntry): boolean {
    const { elapsedMs, clock } = this.#world;
    const self = this.#launchers.find(({ name }) => name === who);
    const own = [...this.#pools.values()].filter(({ process }) => process === self?.process);
    const isHere = own.filter(({ stay }) => stay.toMs === undefined); // others are not registered again yet
    const readMs = Math.min(...isHere.map(({ stay }) => stay.fromMs)); // it registers its pools afterwards
    if (toMs === undefined || readMs <= toMs) return false;
    if (own.some(({ former }) => (former?.toMs ?? 0) - fromMs >= NEWS_MS)) return false;
    const startedMs = self?.startedMs ?? 0;
    const createdMs = Number(body['created_time'] ?? Infinity) * 1_000 - (clock.now() - elapsedMs); // none: for standby
    return elapsedMs - startedMs >= SETTLING_MS || createdMs > startedMs;
  }

  /** A launcher knows its own configuration, whatever the registry shows. */
  #checkOwn(request: RequestEntry, launcher: SimulatedLauncher, declinedBy: readonly string[]): void {
    if (isReloading(launcher, this.#world.elapsedMs)) return;
    for (const [provider, pool] of poolsOf(launcher)) {
      const labels = labelsOf(pool);
      if (!request.labels.every((label) => labels.has(label))) continue;
      const prefix = `${launcher.name}.example.com-PoolWorker.${provider}-${nameOf(pool)}-`;
      if (declinedBy.some((id) => id.startsWith(prefix))) continue;
      this.#violate(request, launcher.name, `its own pool ${provider}/${nameOf(pool)}`);
    }
  }

  #violate({ id, labels }: RequestEntry, who: string, pool: string): void {
    this.#world.violate(
      new Violation(`${who} gives request ${id} (${labels.join()}) up, although ${pool} has its labels`),
    );
  }
}

/** A reload removed the pool, and another one added it again under a new id. */
function isReplaced(pool: Pool, process: SimulatedProcess, body: JsonObject): boolean {
  const isSame = (key: string) => pool.body[key] === body[key];
  return pool.process === process && isSame('provider_name') && isSame('name') && !isSame('id');
}

function hasPool(launcher: SimulatedLauncher, provider: string | undefined, name: string | undefined): boolean {
  return poolsOf(launcher).some(([owner, pool]) => owner === provider && pool['name'] === name);
}

function poolsOf({ spec }: SimulatedLauncher): [provider: string, pool: JsonObject][] {
  return spec.providers.flatMap((provider) =>
    ((provider['pools'] ?? []) as JsonObject[]).map((pool): [string, JsonObject] => [nameOf(provider), pool]),
  );
}

function labelsOf({ labels = [], nodes = [] }: JsonObject): Set<string> {
  const named = (labels as { name: string }[]).map(({ name }) => name);
  return new Set([...named, ...(nodes as { labels: string[] }[]).flatMap((node) => node.labels)]);
}

function nameOf({ name }: JsonObject): string {
  return typeof name === 'string' ? name : '';
}

/** Another configuration may not be in force yet. */
function isReloading({ reloadedMs }: SimulatedLauncher, nowMs: number): boolean {
  return reloadedMs !== undefined && nowMs - reloadedMs < RELOAD_MS;
}
