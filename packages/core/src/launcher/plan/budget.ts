import type { NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
import { accumulate, findOverrun, findShortage, subtractFromLimit } from '../../contract/resources.js';
import { reason } from './candidates.js';
import { LaunchLimits } from './launch-limits.js';
import { describe, limitedBy, RemainingQuota } from './remaining-quota.js';
import { countOf } from './rules.js';
import type { Assignment, AssignmentPart, PlannedRequest, PoolView, Reason, Reservation, RuleName } from './types.js';

/** The nodes that one request may get now, and why it cannot get the others. */
export interface Fit {
  readonly assignment: Assignment;
  /** First shortage met; `undefined` when everything fits. */
  readonly shortage: Reason | undefined;
  /** The rule that limits the request: that of the shortage, but see {@link LaunchLimits.isIdle}. */
  readonly rule: RuleName | undefined;
  /** The pool has capacity for the request, but the provider has not. */
  readonly isProviderShort: boolean;
  /** The request exceeds a quota whose limits are known. */
  readonly isOverQuota: boolean;
}

/** A request, or the unserved part of one. */
export interface Demand {
  readonly request: RequestRecord;
  /** Labels without a node, in order. */
  readonly labels: readonly string[];
  /** Zone already chosen. */
  readonly az: string | null;
  /** The request has been accepted, so the tenant's limit does not apply again. */
  readonly accepted: boolean;
}

/**
 * Remaining capacity of one pool during a planning pass. Requests come in handling order: nodes and capacity that an
 * earlier one takes or reserves are not available to later ones.
 */
export class Budget {
  readonly #view: PoolView;
  readonly #quota: RemainingQuota;
  readonly #taken = new Set<string>();
  readonly #offersByLabel = new Map<string, Offers>();
  readonly #tenantExtra = new Map<string, Resources>();
  readonly #limits: LaunchLimits;
  /** Free nodes reserved for requests that cannot be served yet, behind one that waits for capacity. */
  readonly #heldBack = new Set<string>();
  /** A request did not fit although the pool itself has capacity. */
  #isProviderShort = false;

  constructor(view: PoolView) {
    this.#view = view;
    this.#quota = new RemainingQuota(view);
    this.#limits = new LaunchLimits(view);
  }

  /** Finds nodes for a demand without taking them. */
  fit(demand: Demand): Fit {
    const tenant = demand.accepted ? undefined : this.#tenantShortage(demand);
    if (tenant) return nothingFits(demand, tenant);
    const scratch = newScratch(demand);
    const parts: AssignmentPart[] = [];
    for (const label of demand.labels) parts.push(this.#fitLabel(label, demand.request, parts, scratch));
    if (scratch.limited && !demand.accepted) return nothingFits(demand, scratch.limited);
    const complete = parts.every((part) => part.source.kind !== 'wait');
    const { az, shortage, rule, isProviderShort, isKnown } = scratch;
    this.#isProviderShort ||= isProviderShort;
    const isOverQuota = isKnown && rule !== undefined && !TOO_MANY_LAUNCHES.has(rule);
    return { assignment: { parts, complete, az }, shortage, rule, isProviderShort, isOverQuota };
  }

  /** Takes an assignment out of the budget, reserving capacity for its waiting parts. */
  take(demand: Demand, assignment: Assignment): void {
    for (const part of assignment.parts) this.#takePart(part);
    this.#limits.take(assignment.parts.filter(({ source }) => source.kind === 'launch').length);
    const tenant = demand.request.tenantName;
    if (tenant === null || demand.accepted) return;
    const extra = this.#tenantExtra.get(tenant) ?? {};
    accumulate(extra, this.#quota.needOf(demand.request.labels));
    this.#tenantExtra.set(tenant, extra);
  }

  /** Reserves for the demand what operators' orders still allow, so that later requests do not overtake it. */
  keepOrdered({ labels }: Demand): void {
    for (const label of labels) this.#limits.takeOrdered(label);
  }

  /** Resources that an assignment needs beside existing nodes. */
  needOfRest({ parts }: Assignment): Resources {
    return this.#quota.needOf(parts.filter(({ source }) => source.kind !== 'node').map(({ label }) => label));
  }

  /** Marks reserved nodes as candidates for {@link findSpare}: their request is behind one that waits for capacity. */
  holdBack(assignment: Assignment): void {
    for (const { source } of assignment.parts) if (source.kind === 'node') this.#heldBack.add(source.node.id);
  }

  /** Reserves resources for a request of another pool or launcher. */
  reserve(reservation: Pick<Reservation, 'need' | 'isInPool'>): void {
    this.#quota.reserve(reservation);
  }

  /** The longest idle node that no request of this pass takes; failing that, one that is only reserved, see {@link holdBack}. */
  findSpare(): NodeRecord | undefined {
    for (const node of this.#view.idleNodes()) if (!this.#taken.has(node.id)) return node;
    for (const node of this.#view.idleNodes()) if (this.#heldBack.has(node.id)) return node;
    if (!this.#isProviderShort) return undefined;
    for (const node of this.#view.idleElsewhere?.() ?? []) return node;
    return undefined;
  }

  #takePart(part: AssignmentPart): void {
    if (part.source.kind === 'node') {
      this.#taken.add(part.source.node.id);
      return;
    }
    if (!this.#view.launches) return;
    this.#limits.takeOrdered(part.label);
    this.#quota.reserve({ need: this.#quota.needOf([part.label]), isInPool: true });
  }

  #fitLabel(label: string, request: PlannedRequest, earlier: AssignmentPart[], scratch: Scratch): AssignmentPart {
    const node = request.reuse
      ? (this.#findFree(label, scratch) ?? this.#findExchange(label, earlier, scratch))
      : undefined;
    if (node) {
      scratch.nodes.add(node.id);
      scratch.inVain.clear();
      if (this.#view.launches) scratch.az ??= node.az;
      return { label, source: { kind: 'node', node } };
    }
    const shortage = this.#view.launches
      ? this.#launchShortage(label, scratch)
      : nothingFree(label, request.labels, earlier, this.#offered(label));
    if (shortage) {
      scratch.shortage ??= shortage;
      scratch.rule ??= shortage.rule;
      return { label, source: { kind: 'wait' } };
    }
    scratch.launched.push(label);
    return { label, source: { kind: 'launch' } };
  }

  #findFree(label: string, scratch: Scratch): NodeRecord | undefined {
    let free = scratch.free.get(label);
    if (!free) scratch.free.set(label, (free = this.#offered(label)));
    for (let next = free.next(); !next.done; next = free.next()) {
      const node = next.value;
      if (scratch.nodes.has(node.id)) continue;
      if (this.#view.launches && scratch.az !== null && node.az !== scratch.az) continue;
      if (this.#view.acceptsNode && !this.#view.acceptsNode(scratch.request, node)) continue;
      return node;
    }
    return undefined;
  }

  #findExchange(label: string, earlier: AssignmentPart[], scratch: Scratch): NodeRecord | undefined {
    if (scratch.inVain.has(label)) return undefined;
    const node = this.#exchange(label, earlier, scratch, new Set());
    if (!node) scratch.inVain.add(label);
    return node;
  }

  /**
   * Finds a node for the label among those given to earlier parts, which get another node instead. Nodes have several labels;
   * without this, a request could wait indefinitely although the free nodes suffice.
   * @param asked - nodes that were tried already
   */
  #exchange(label: string, parts: AssignmentPart[], scratch: Scratch, asked: Set<string>): NodeRecord | undefined {
    for (const [index, part] of parts.entries()) {
      if (part.source.kind !== 'node' || part.label === label) continue;
      const { node } = part.source;
      if (!node.labels.includes(label) || asked.has(node.id)) continue;
      asked.add(node.id);
      const other = this.#findFree(part.label, scratch) ?? this.#exchange(part.label, parts, scratch, asked);
      if (!other) continue;
      scratch.nodes.add(other.id);
      parts[index] = { label: part.label, source: { kind: 'node', node: other } };
      return node;
    }
    return undefined;
  }

  /** Free nodes of the label that no earlier request takes. */
  *#offered(label: string): Generator<NodeRecord> {
    let offers = this.#offersByLabel.get(label);
    if (!offers) {
      offers = { source: this.#view.freeNodes(label)[Symbol.iterator](), seen: [] };
      this.#offersByLabel.set(label, offers);
    }
    if (offers.seen.some(({ id }) => this.#taken.has(id))) {
      offers.seen = offers.seen.filter(({ id }) => !this.#taken.has(id));
    }
    yield* offers.seen;
    for (let next = offers.source.next(); !next.done; next = offers.source.next()) {
      if (this.#taken.has(next.value.id)) continue;
      offers.seen.push(next.value);
      yield next.value;
    }
  }

  #launchShortage(label: string, scratch: Scratch): Reason | undefined {
    scratch.limited ??= this.#limits.findOrder(label, scratch.launched);
    if (scratch.limited) return scratch.limited;
    const tooMany = this.#limits.findShortage(scratch.launched.length);
    if (tooMany) scratch.rule ??= tooMany.rule;
    if (tooMany && !this.#limits.isIdle) return tooMany;
    const short = this.#quota.findShortage(label, scratch.launched);
    if (tooMany) return short?.reason ?? tooMany;
    if (!short) return undefined;
    scratch.isKnown &&= short.isKnown;
    scratch.isProviderShort ||= short.isProviderShort;
    return short.reason;
  }

  #tenantShortage(demand: Demand): Reason | undefined {
    const tenant = demand.request.tenantName;
    if (tenant === null) return undefined;
    const limit = this.#view.tenantLimit(tenant);
    if (!limit) return undefined;
    const free = subtractFromLimit(limit, this.#view.tenantUsed(tenant));
    const rest = { ...free };
    accumulate(rest, limitedBy(this.#tenantExtra.get(tenant) ?? {}, rest), -1);
    const over = findShortage(this.#quota.needOf(demand.request.labels), rest) ?? findOverrun(free);
    if (!over) return undefined;
    const { text, details } = describe(over, free, 'needs ');
    return reason(
      'tenant-quota',
      `tenant "${tenant}" would exceed its limit: ${text}`,
      'nodes of the tenant are returned, or tenant-resource-limits is raised',
      { tenant, ...details },
    );
  }
}

/** Limits on the number of launches, as opposed to quota. */
const TOO_MANY_LAUNCHES: ReadonlySet<RuleName> = new Set(['max-concurrency', 'launch-ramp']);

/** The demand gets no nodes, and nothing is reserved for it. */
function nothingFits({ az }: Demand, shortage: Reason): Fit {
  const assignment = { parts: [], complete: false, az };
  return { assignment, shortage, rule: shortage.rule, isProviderShort: false, isOverQuota: false };
}

/**
 * Why a request gets no more nodes of a label.
 * @param parts - assigned to the request so far
 * @param free - nodes of the label that no request ahead takes
 */
function nothingFree(
  label: string,
  labels: readonly string[],
  parts: readonly AssignmentPart[],
  free: Iterable<NodeRecord>,
): Reason {
  const needed = countOf(labels, label);
  const beside = new Set<string>();
  for (const part of parts) if (part.label !== label && part.source.kind === 'node') beside.add(part.source.node.id);
  let available = 0;
  let taken = 0;
  for (const { id } of free) {
    if (beside.has(id)) taken++;
    else available++;
  }
  const rest = taken === 0 ? '' : `, ${taken} taken for its other labels`;
  return reason(
    'label-quota',
    `${needed} of "${label}" needed, ${available} free after requests ahead${rest}`,
    'nodes of the label are returned or added',
    { label, needed, available },
  );
}

/** Free nodes of one label. Nodes taken early in a pass are skipped once, not by every later request. */
interface Offers {
  /** Nodes that were not looked at yet. */
  readonly source: Iterator<NodeRecord>;
  seen: NodeRecord[];
}

/** State while one demand is fitted. */
interface Scratch {
  readonly request: RequestRecord;
  az: string | null;
  readonly nodes: Set<string>;
  /** Labels of the nodes to launch. */
  readonly launched: string[];
  shortage: Reason | undefined;
  rule: RuleName | undefined;
  /** The operator's order that forbids one of the launches. */
  limited: Reason | undefined;
  isProviderShort: boolean;
  isKnown: boolean;
  /** Labels for which no part can exchange its node, until another part gets one. */
  readonly inVain: Set<string>;
  /** Free nodes of each label that were not examined yet: a node that did not fit once does not fit later. */
  readonly free: Map<string, Iterator<NodeRecord>>;
}

function newScratch({ request, az }: Demand): Scratch {
  return {
    ...{ request, az, nodes: new Set(), launched: [], inVain: new Set(), free: new Map() },
    ...{ shortage: undefined, rule: undefined, limited: undefined, isProviderShort: false, isKnown: true },
  };
}
