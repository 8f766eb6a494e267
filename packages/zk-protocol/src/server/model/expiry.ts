import type { DataTree } from './data-tree.js';
import type { Moment } from './moment.js';
import { ttlOf } from './owners.js';
import { parentOf } from './paths.js';
import type { Change } from './transactions.js';

/** Finds expired TTL znodes, and containers that have been empty for the grace time. Uses steady time. */
export class Expiry {
  private readonly emptyContainers = new Map<string, number>();
  /** Expiry time of each TTL znode. */
  private readonly ttlEnds = new Map<string, number>();
  /** Lower bound of the next deadline. */
  earliestMs = Infinity;

  constructor(
    private readonly tree: DataTree,
    private readonly containerGraceMs: number,
  ) {}

  /** Updates the deadlines of containers and TTL znodes after a change. */
  noteChange(change: Change, nowMs: number): void {
    if (change.change === 'create' && change.owner !== 0n) this.noteTtl(change.path, ttlOf(change.owner), nowMs);
    if (change.change === 'setData' && this.ttlEnds.has(change.path)) this.noteSetData(change.path, nowMs);
    if (change.change === 'delete') this.noteDelete(change.path, nowMs);
  }

  private noteTtl(path: string, ttlMs: number | undefined, nowMs: number): void {
    if (ttlMs === undefined) return;
    this.ttlEnds.set(path, nowMs + ttlMs);
    this.earliestMs = Math.min(this.earliestMs, nowMs + ttlMs + 1);
  }

  private noteSetData(path: string, nowMs: number): void {
    const node = this.tree.get(path);
    if (node !== undefined) this.noteTtl(path, ttlOf(node.owner), nowMs);
  }

  private noteDelete(path: string, nowMs: number): void {
    this.ttlEnds.delete(path);
    const parent = parentOf(path);
    if (this.tree.containers().has(parent)) {
      this.emptyContainers.set(parent, nowMs + this.containerGraceMs);
      this.earliestMs = Math.min(this.earliestMs, nowMs + this.containerGraceMs);
    }
    // A TTL znode that lost its last child may have expired before.
    if (this.ttlEnds.has(parent)) this.earliestMs = Math.min(this.earliestMs, nowMs);
  }

  /** After a restart: empty containers get their full grace time, TTL znodes their remaining time. */
  restart({ wallMs, steadyMs }: Moment): void {
    for (const path of this.tree.containers()) {
      if (this.isAbandoned(path)) this.emptyContainers.set(path, steadyMs + this.containerGraceMs);
    }
    for (const path of this.tree.ttlNodes()) {
      const node = this.tree.get(path);
      const ttlMs = node && ttlOf(node.owner);
      if (node === undefined || ttlMs === undefined) continue;
      // If the clock was set back, it must not live longer than a new znode.
      const ageMs = Math.max(0, wallMs - node.mtime);
      this.ttlEnds.set(path, steadyMs + ttlMs - ageMs);
    }
  }

  /** Paths to delete now. */
  due(nowMs: number): string[] {
    const paths: string[] = [];
    for (const [path, dueMs] of this.emptyContainers) {
      if (dueMs > nowMs) continue;
      this.emptyContainers.delete(path);
      if (this.isAbandoned(path)) paths.push(path);
    }
    for (const [path, endMs] of this.ttlEnds) {
      if (endMs < nowMs && this.isChildless(path)) paths.push(path);
    }
    return paths;
  }

  /** Time of the next deadline; `undefined` if there is none. */
  nextDueMs(): number | undefined {
    let next: number | undefined;
    for (const dueMs of this.emptyContainers.values()) next = Math.min(next ?? dueMs, dueMs);
    for (const [path, endMs] of this.ttlEnds) {
      if (this.isChildless(path)) next = Math.min(next ?? Infinity, endMs + 1);
    }
    this.earliestMs = next ?? Infinity;
    return next;
  }

  private isAbandoned(path: string): boolean {
    const node = this.tree.get(path);
    return node !== undefined && this.tree.containers().has(path) && node.childrenCreated > 0 && !node.children?.size;
  }

  /** TTL znodes with children do not expire. */
  private isChildless(path: string): boolean {
    const node = this.tree.get(path);
    return node !== undefined && (node.children?.size ?? 0) === 0;
  }
}
