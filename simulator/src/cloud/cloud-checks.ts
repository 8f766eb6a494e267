import { DATABASE_ID_TAG, NODE_ID_TAG } from '@nodepool/core';
import { isBacking, type NodeEntry } from '@nodepool/core/testing';
import type { CloudInstance, FakeCloud } from '@nodepool/driver-fake';
import { leaseOfNode } from '../world/lease-checks.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';

/** When the record was made of the node that a machine was made for: numbers repeat after an older copy came back. */
const CREATED_TAG = 'nodepool_node_created';
/** States of a node with a user. */
const USED: ReadonlySet<string> = new Set(['in-use', 'hold']);

/** What is checked. */
export interface CheckedCloud {
  readonly name: string;
  readonly fake: FakeCloud;
  /** Whether calls and listings always report the actual instances. */
  readonly isHonest: boolean;
}

/** Checks what launchers do to the instances of a cloud. */
export class CloudChecks {
  readonly #world: World;
  readonly #cloud: CheckedCloud;
  readonly #foreign: readonly string[];
  /** Nodes whose order arrived after the caller's timeout; a listing in between shows no instance. */
  readonly #excused = new Set<string>();
  /** Machines that have had a user, and the lease of that one, if it was one. */
  readonly #used = new Map<string, string | undefined>();

  /** @param foreign - ids of instances that are not of this installation; may grow */
  constructor(world: World, cloud: CheckedCloud, foreign: readonly string[]) {
    this.#world = world;
    this.#cloud = cloud;
    this.#foreign = foreign;
  }

  /** The order for this node came after its caller had given up. */
  excuse(nodeId: string): void {
    this.#excused.add(nodeId);
  }

  /** Checks that a node has one instance despite lost responses, unless listings are faulty. */
  onlyOne({ id, metadata }: CloudInstance): void {
    const nodeId = metadata[NODE_ID_TAG];
    const { fake, isHonest } = this.#cloud;
    if (nodeId === undefined || !isHonest || this.#excused.has(nodeId)) return;
    for (const other of fake.list()) {
      if (this.#foreign.includes(other.id)) continue;
      const isSame = other.metadata[NODE_ID_TAG] === nodeId && other.metadata[CREATED_TAG] === metadata[CREATED_TAG];
      const isOther = other.id !== id && isSame && other.status !== 'deleting';
      if (isOther && other.status !== 'error')
        this.#violate(`instances ${other.id} and ${id} are both for node ${nodeId}`);
    }
  }

  /** Checks that no machine is deleted while in use or allocated, and none of others. */
  removal(id: string): void {
    const metadata = this.#cloud.fake.get(id)?.metadata;
    if (this.#foreign.includes(id)) this.#violate(`foreign instance ${id} is deleted`);
    const node = this.#nodeOf(id);
    const isOfNode = node !== undefined && (node.body['external_id'] === id || metadata?.[CREATED_TAG] !== undefined);
    const isGoing = this.#world.goingMachines.has(id);
    const isProven = isOfNode || isGoing || metadata?.[DATABASE_ID_TAG] === this.#world.checker.databaseId;
    if (metadata && !isProven) this.#violate(`${id} is deleted, and neither a record nor its tags prove it ours`);
    if (node && !isGoing && (node.state !== 'ready' || node.allocatedTo !== null))
      this.#checkUnused(id, node, 'deleted');
  }

  /** Checks that no machine is stopped that someone has, or may be given now. */
  stop(id: string): void {
    const node = this.#nodeOf(id);
    if (node) this.#checkUnused(id, node, 'stopped');
  }

  /** Checks that a machine has one user ever, and is the machine of the node that it was made for. */
  nodeChanged(before: NodeEntry | undefined, after: NodeEntry): void {
    if (this.#world.isReplacing) {
      if (this.#world.mayLendAgain) this.#forgetUsersOf(after);
      return;
    }
    const { external_id: id } = after.body;
    const metadata = typeof id === 'string' ? this.#cloud.fake.get(id)?.metadata : undefined;
    if (typeof id !== 'string' || !metadata || isBacking(after)) return;
    if (before?.state !== after.state && after.state === 'ready' && !isMachineOf(metadata, after))
      this.#violate(`${id} becomes the machine of node ${after.id}, for which it was not made`);
    if (before?.state !== 'ready' || !USED.has(after.state) || after.touched) return;
    const lease = leaseOfNode(after);
    // in an older copy a lease that had become active waits for the machine that it had
    const isSame = lease !== undefined && lease === this.#used.get(id);
    if (this.#used.has(id) && !isSame) this.#violate(`${id} of node ${after.id} is lent again`);
    this.#used.set(id, lease);
  }

  /** An older copy says that the node is free, or is still being made. */
  #forgetUsersOf(node: NodeEntry): void {
    for (const id of this.#used.keys())
      if (isMachineOf(this.#cloud.fake.get(id)?.metadata ?? {}, node)) this.#used.delete(id);
  }

  #checkUnused(id: string, node: NodeEntry, how: string): void {
    if (node.body['external_id'] !== id || node.touched) return;
    if (node.state === 'ready' || node.state === 'in-use' || node.state === 'hold')
      this.#violate(`${id} is ${how}, the ${node.state} machine of node ${node.id}`);
  }

  #nodeOf(id: string): NodeEntry | undefined {
    const metadata = this.#cloud.fake.get(id)?.metadata ?? {};
    const node = this.#world.checker.nodes.get(metadata[NODE_ID_TAG] ?? '');
    return node && (node.body['external_id'] === id || isMachineOf(metadata, node)) ? node : undefined;
  }

  #violate(what: string): void {
    this.#world.violate(new Violation(`${this.#cloud.name}: ${what}`));
  }
}

function isMachineOf(tags: Readonly<Record<string, string>>, { id, body }: NodeEntry): boolean {
  const created = tags[CREATED_TAG] ?? '';
  return (
    tags[NODE_ID_TAG] === id && (created === '' || Math.abs(Number(created) - Number(body['created_time']) * 1000) < 1)
  );
}
