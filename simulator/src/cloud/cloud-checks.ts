import { DATABASE_ID_TAG, NODE_ID_TAG } from '@nodepool/core';
import type { NodeEntry } from '@nodepool/core/testing';
import type { CloudInstance, FakeCloud } from '@nodepool/driver-fake';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';

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
      const isOther = other.id !== id && other.metadata[NODE_ID_TAG] === nodeId && other.status !== 'deleting';
      if (isOther && other.status !== 'error')
        this.#violate(`instances ${other.id} and ${id} are both for node ${nodeId}`);
    }
  }

  /** Checks that no machine is deleted while in use or allocated, and none of others. */
  removal(id: string): void {
    const metadata = this.#cloud.fake.get(id)?.metadata;
    if (this.#foreign.includes(id)) this.#violate(`foreign instance ${id} is deleted`);
    const node = this.#nodeOf(id);
    const isProven = node?.body['external_id'] === id || metadata?.[DATABASE_ID_TAG] === this.#world.checker.databaseId;
    if (metadata && !isProven) this.#violate(`${id} is deleted, and neither a record nor its tags prove it ours`);
    if (node && (node.state !== 'ready' || node.allocatedTo !== null)) this.#checkUnused(id, node, 'deleted');
  }

  /** Checks that no machine is stopped that someone has, or may be given now. */
  stop(id: string): void {
    const node = this.#nodeOf(id);
    if (node) this.#checkUnused(id, node, 'stopped');
  }

  #checkUnused(id: string, node: NodeEntry, how: string): void {
    if (node.body['external_id'] !== id || node.touched) return;
    if (node.state === 'ready' || node.state === 'in-use' || node.state === 'hold')
      this.#violate(`${id} is ${how}, the ${node.state} machine of node ${node.id}`);
  }

  #nodeOf(id: string): NodeEntry | undefined {
    return this.#world.checker.nodes.get(this.#cloud.fake.get(id)?.metadata[NODE_ID_TAG] ?? '');
  }

  #violate(what: string): void {
    this.#world.violate(new Violation(`${this.#cloud.name}: ${what}`));
  }
}
