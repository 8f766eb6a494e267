import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { LazyAbort } from '../../async/lazy-abort.js';
import type { Assignment } from '../plan/types.js';
import type { Launch } from '../state/events.js';
import type { HeldNode } from './release.js';

/** One label of a request, with the node that serves it. */
export interface Part {
  readonly label: string;
  /** `missing` no node yet · `working` being locked, checked or launched · `ready` · `failed` for good */
  state: 'missing' | 'working' | 'ready' | 'failed';
  node: NodeRecord | undefined;
  /** Our entry in the node's lock. */
  entry: string | undefined;
  error: Error | undefined;
  /** Why its machine cannot be used any more, though the node was ready; `undefined`: it can, as far as is known. */
  unusable: string | undefined;
  /** The launch decided on for it, until the driver is called. */
  launch: Launch | undefined;
  /** The changes with which its launch asks to store the node as ready. */
  readyChanges: ReadyChanges | undefined;
  /** Ends its launch when no request needs the node any more; `undefined`: it is not being launched. */
  unwanted: LazyAbort | undefined;
}

/** A part for which a launch has been decided on. */
export type LaunchPart = Part & { launch: Launch };

/** A launch that waits until its node is stored as ready. */
export interface ReadyChanges {
  readonly changes: Partial<NodeRecord>;
  readonly stored: (node: NodeRecord) => void;
  readonly failed: (error: Error) => void;
}

/** The labels of one request, in order, with the nodes found or made for them. */
export class RequestParts {
  readonly all: readonly Part[];

  constructor(labels: readonly string[]) {
    this.all = labels.map((label) => ({
      label,
      state: 'missing',
      node: undefined,
      entry: undefined,
      error: undefined,
      unusable: undefined,
      launch: undefined,
      readyChanges: undefined,
      unwanted: undefined,
    }));
  }

  has(state: Part['state']): boolean {
    return this.all.some((part) => part.state === state);
  }

  find(state: Part['state']): Part | undefined {
    return this.all.find((part) => part.state === state);
  }

  ofNode(id: NodeId): Part | undefined {
    return this.all.find((part) => part.node?.id === id);
  }

  missingLabels(): string[] {
    return this.all.filter((part) => part.state === 'missing').map((part) => part.label);
  }

  /** Node ids in the order of the labels. */
  nodeIds(): NodeId[] {
    return this.all.map((part) => part.node?.id).filter((id) => id !== undefined);
  }

  /** Nodes that this process has locked. */
  held(): HeldNode[] {
    const held: HeldNode[] = [];
    for (const { node, entry } of this.all) if (node && entry !== undefined) held.push({ node, entry });
    return held;
  }

  /**
   * Applies an assignment, made for the missing labels in their order, to the missing parts.
   * @returns the parts that got a ready node, and those that need a launch
   */
  assign(assignment: Assignment): { reused: Part[]; toLaunch: Part[] } {
    const open = this.all.filter((part) => part.state === 'missing');
    const reused: Part[] = [];
    const toLaunch: Part[] = [];
    for (const { label, source } of assignment.parts) {
      const index = open.findIndex((part) => part.label === label);
      const part = open[index];
      if (!part) continue;
      open.splice(index, 1);
      if (source.kind === 'wait') continue;
      part.state = 'working';
      if (source.kind === 'launch') toLaunch.push(part);
      else {
        part.node = source.node;
        reused.push(part);
      }
    }
    return { reused, toLaunch };
  }

  /** The machine of a node cannot be used any more. */
  setUnusable(id: NodeId, why: string): void {
    const part = this.ofNode(id);
    if (part) part.unusable = why;
  }

  /** Gives up the part's node: its label is missing again. */
  lose(part: Part): void {
    part.readyChanges?.failed(new Error(`node ${part.node?.id} is not the request's any more`));
    part.readyChanges = undefined;
    part.state = 'missing';
    part.node = undefined;
    part.entry = undefined;
    part.unusable = undefined;
    part.unwanted = undefined;
  }
}

/** The records of the parts' nodes. */
export function recordsOf(parts: readonly Part[]): NodeRecord[] {
  return parts.map((part) => part.node).filter((node) => node !== undefined);
}
