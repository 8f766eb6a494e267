import { steadyNow, type NodeId, type NodeRecord, type RecordChange } from '@nodepool/zk-protocol';
import type { ProviderContext } from '@nodepool/core';
import { BackingNode } from './backing-node.js';
import { isCircular } from './chain.js';
import { HiddenSlots } from './hidden-slots.js';
import { Inquiries } from './inquiries.js';
import { LabelSupply } from './label-supply.js';
import { parseBackingData, placeOf } from './user-data.js';

/** Callbacks of a {@link SlotIndex}. */
export interface SlotIndexListener {
  /** Slots, demand or backing nodes of the label changed. */
  labelChanged(label: string): void;
  /** The backing node changed; it may be due. */
  backingChanged(backing: BackingNode): void;
  /** A backing node was deleted, returned, or belongs to another owner. */
  backingLost(id: NodeId): void;
}

/**
 * Index of backing nodes and their slots, derived from the records alone. `user_data` and a permanent lock mark a backing
 * node; claims in that `user_data` and `driver_data` of slot nodes mark occupied slots. All launchers derive the same
 * index from the same changes.
 */
export class SlotIndex {
  readonly #context: ProviderContext;
  readonly #provider: string;
  readonly #owner: string;
  readonly #listener: SlotIndexListener;
  readonly #backing = new Map<NodeId, BackingNode>();
  readonly #labels = new Map<string, LabelSupply>();
  /** Slot nodes by backing node, as their `driver_data` says. */
  readonly #slotNodes = new Map<NodeId, Map<NodeId, number>>();
  /** The backing node that a claiming node is on. */
  readonly #claimed = new Map<NodeId, NodeId>();
  readonly #inquiries: Inquiries;
  readonly #hidden: HiddenSlots;
  #unsubscribe: (() => void)[] = [];

  constructor(context: ProviderContext, provider: string, owner: string, listener: SlotIndexListener) {
    this.#context = context;
    this.#provider = provider;
    this.#owner = owner;
    this.#listener = listener;
    this.#inquiries = new Inquiries(context);
    this.#hidden = new HiddenSlots(provider, context.nodes);
  }

  /** Reads existing records and subscribes to changes. */
  open(): void {
    const { nodes } = this.#context;
    this.#unsubscribe = [
      nodes.onChange((change) => this.#changed(change)),
      nodes.onLockChange((id) => this.#lockChanged(id as NodeId)),
      nodes.onReady((ready) => ready && this.recheck()),
    ];
    for (const node of nodes.values()) this.#changed({ id: node.id, before: undefined, after: node });
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  get(id: NodeId): BackingNode | undefined {
    return this.#backing.get(id);
  }

  all(): Iterable<BackingNode> {
    return this.#backing.values();
  }

  label(name: string): LabelSupply {
    this.#lookForHidden();
    let supply = this.#labels.get(name);
    if (!supply) this.#labels.set(name, (supply = new LabelSupply()));
    return supply;
  }

  labels(): Iterable<string> {
    return this.#labels.keys();
  }

  /** Slot nodes on a backing node, known or not. */
  slotNodesOn(id: NodeId): Iterable<NodeId> {
    return this.#slotNodes.get(id)?.keys() ?? [];
  }

  /** Every node that a slot node names as its backing node. */
  namedBackingNodes(): Iterable<NodeId> {
    return this.#slotNodes.keys();
  }

  /** Reserves `count` slots; negative: releases them. */
  reserve(backing: BackingNode, count: number): void {
    backing.reserved += count;
    this.update(backing);
  }

  /** Repeats failed reads. */
  recheck(): void {
    for (const backing of this.#backing.values()) {
      if (backing.ownership !== 'ours') void this.#findOwner(backing);
      this.#refresh(backing);
    }
    for (const label of this.#labels.keys()) this.#listener.labelChanged(label);
  }

  #lookForHidden(): void {
    if (this.#hidden.look()) for (const backing of this.#backing.values()) this.#refresh(backing);
  }

  #changed({ id, before, after }: RecordChange<NodeRecord>): void {
    this.#lookForHidden();
    if (before?.provider === this.#provider || after?.provider === this.#provider) this.#slotNodeChanged(before, after);
    const nodeId = id as NodeId;
    const known = this.#backing.get(nodeId);
    if (known || typeof after?.userData === 'string') this.#backingNodeChanged(nodeId, known, after);
    if (after === undefined) this.#claimantGone(nodeId);
  }

  // ---- slot nodes

  #slotNodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const own = (node: NodeRecord | undefined) => (node?.provider === this.#provider ? node : undefined);
    const [was, is] = [own(before), own(after)];
    const [left, joined] = [was && placeOf(was), is && placeOf(is)];
    if (left?.backingNode !== joined?.backingNode || left?.slot !== joined?.slot) {
      if (left && was) this.#vacate(left.backingNode, was.id);
      if (joined && is) this.#occupy(joined.backingNode, is.id, joined.slot);
    }
    this.#countWaiting(was, is);
  }

  #occupy(backing: NodeId, node: NodeId, slot: number): void {
    let nodes = this.#slotNodes.get(backing);
    if (!nodes) this.#slotNodes.set(backing, (nodes = new Map<NodeId, number>()));
    nodes.set(node, slot);
    const known = this.#backing.get(backing);
    if (known) this.#refresh(known);
  }

  #vacate(backing: NodeId, node: NodeId): void {
    const nodes = this.#slotNodes.get(backing);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#slotNodes.delete(backing);
    const known = this.#backing.get(backing);
    if (known) this.#refresh(known);
  }

  #countWaiting(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const was = waitingLabel(before);
    const waits = waitingLabel(after);
    // A circular request will be refused, so request no backing node for it.
    const is = waits !== undefined && after && isRefused(this.#context, this.#owner, after, waits) ? undefined : waits;
    if (was === is) return;
    if (was !== undefined && before) {
      this.label(was).waiting.delete(before.id);
      this.#listener.labelChanged(was);
    }
    if (is !== undefined && after) {
      this.label(is).waiting.add(after.id);
      this.#listener.labelChanged(is);
    }
  }

  #claimantGone(node: NodeId): void {
    const id = this.#claimed.get(node);
    const backing = id === undefined ? undefined : this.#backing.get(id);
    if (!backing) return;
    backing.gone.add(node);
    this.#refresh(backing);
  }

  // ---- backing nodes

  #backingNodeChanged(id: NodeId, known: BackingNode | undefined, after: NodeRecord | undefined): void {
    const data = after?.state === 'in-use' ? parseBackingData(after.userData, this.#owner) : undefined;
    if (!after || !data) return known && this.#lose(known);
    if (!known) {
      const backing = new BackingNode(after, data, this.#context.clock);
      this.#backing.set(id, backing);
      this.#indexClaims(backing, undefined);
      void this.#findOwner(backing);
      this.#refresh(backing);
      return;
    }
    const before = known.data;
    known.record = after;
    known.data = before.label === data.label ? data : { ...data, label: before.label };
    this.#indexClaims(known, before.claims);
    this.#refresh(known);
  }

  #indexClaims(backing: BackingNode, before: ReadonlyMap<number, NodeId> | undefined): void {
    const { claims } = backing.data;
    for (const [slot, node] of before ?? []) if (claims.get(slot) !== node) this.#claimed.delete(node);
    const current = new Set(claims.values());
    for (const node of current) this.#claimed.set(node, backing.id);
    for (const node of backing.gone) if (!current.has(node)) backing.gone.delete(node);
  }

  #lose(backing: BackingNode): void {
    this.#backing.delete(backing.id);
    for (const node of backing.data.claims.values()) this.#claimed.delete(node);
    this.label(backing.data.label).remove(backing);
    this.#listener.labelChanged(backing.data.label);
    this.#listener.backingLost(backing.id);
  }

  /** Recomputes the occupied slots. */
  #refresh(backing: BackingNode): void {
    const occupied = new Map<number, NodeId>();
    for (const [slot, node] of backing.data.claims) {
      if (!this.#hasLeft(backing, slot, node)) occupied.set(slot, node);
    }
    for (const [node, slot] of this.#hidden.on(backing.id)) occupied.set(slot, node);
    for (const [node, slot] of this.#slotNodes.get(backing.id) ?? []) occupied.set(slot, node);
    backing.mayHide = this.#hidden.mayHide(backing.data.launchedMs, (node) => this.#claimed.has(node));
    const wasFreed = occupied.size < backing.occupied.size;
    backing.occupied = occupied;
    if (wasFreed) backing.lastUsedMs = steadyNow(this.#context.clock);
    this.update(backing);
  }

  #hasLeft(backing: BackingNode, slot: number, node: NodeId): boolean {
    if (backing.gone.has(node)) return true;
    const record = this.#context.nodes.get(node);
    if (record === undefined) {
      void this.#findClaimant(backing, node);
      return false;
    }
    const place = placeOf(record);
    return place !== undefined && (place.backingNode !== backing.id || place.slot !== slot);
  }

  /** Applies changed fields of the backing node. */
  update(backing: BackingNode): void {
    if (this.#backing.get(backing.id) !== backing) return;
    this.label(backing.data.label).put(backing);
    this.#listener.labelChanged(backing.data.label);
    this.#listener.backingChanged(backing);
  }

  // ---- what the cache does not show

  /** A node that is not in the cache may be deleted or too new. */
  async #findClaimant(backing: BackingNode, node: NodeId): Promise<void> {
    await this.#inquiries.once(node, async () => {
      if (await this.#inquiries.hasRecord(node)) return;
      backing.gone.add(node);
      if (this.#backing.get(backing.id) === backing) this.#refresh(backing);
    });
  }

  #lockChanged(id: NodeId): void {
    const backing = this.#backing.get(id);
    if (backing) void this.#findOwner(backing);
  }

  /** A `user_data` counts only if its owner also holds the node's lock. */
  async #findOwner(backing: BackingNode): Promise<void> {
    await this.#inquiries.once(`lock of ${backing.id}`, async () => {
      let contenders: number;
      do {
        contenders = this.#context.nodes.contenders(backing.id);
        const holder = await this.#inquiries.lockHolder(backing.id);
        backing.ownership = holder?.identifier === this.#owner ? 'ours' : 'foreign';
        backing.lockEntry = backing.ownership === 'ours' ? holder?.entryPath : undefined;
      } while (contenders !== this.#context.nodes.contenders(backing.id) && this.#backing.has(backing.id));
      this.update(backing);
    });
  }
}

/**
 * The label for which a node waits for a slot; `undefined` if it does not wait. `init` does not count: such a node stays
 * if its launcher dies.
 */
function waitingLabel(node: NodeRecord | undefined): string | undefined {
  if (node?.state !== 'building') return undefined;
  return placeOf(node) === undefined ? node.labels[0] : undefined;
}

/** Whether a node is for a request that asks for backing nodes in a circle. */
function isRefused({ requests }: ProviderContext, owner: string, { allocatedTo }: NodeRecord, label: string): boolean {
  const request = allocatedTo === null ? undefined : requests.get(allocatedTo);
  return request !== undefined && isCircular(request, owner, label);
}
