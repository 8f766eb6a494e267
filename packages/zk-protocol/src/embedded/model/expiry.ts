import type { DataTree } from './data-tree.js';
import { ttlOf } from './owners.js';
import { parentOf } from './paths.js';
import type { Change } from './transactions.js';

/** Finds TTL znodes that are too old and containers that have been empty for a while. */
export class Expiry {
  private readonly emptyContainers = new Map<string, number>();
  /** Nothing is due before this time. */
  earliestMs = Infinity;

  constructor(
    private readonly tree: DataTree,
    private readonly containerGraceMs: number,
  ) {}

  /** Remembers since when a container is empty, and that a TTL znode came into being. */
  noteChanges(changes: readonly Change[], nowMs: number): void {
    for (const change of changes) {
      if (change.change === 'create' && change.owner !== 0n) this.noteTtl(ttlOf(change.owner), nowMs);
      if (change.change === 'delete') this.noteDelete(parentOf(change.path), nowMs);
    }
  }

  private noteTtl(ttlMs: number | undefined, nowMs: number): void {
    if (ttlMs !== undefined) this.earliestMs = Math.min(this.earliestMs, nowMs + ttlMs + 1);
  }

  private noteDelete(parent: string, nowMs: number): void {
    if (this.tree.containers().has(parent)) {
      this.emptyContainers.set(parent, nowMs + this.containerGraceMs);
      this.earliestMs = Math.min(this.earliestMs, nowMs + this.containerGraceMs);
    }
    // A TTL znode that lost its last child may be overdue already.
    if (this.tree.ttlNodes().has(parent)) this.earliestMs = Math.min(this.earliestMs, nowMs);
  }

  /** After a restart: containers found empty begin their grace time now. */
  restart(nowMs: number): void {
    for (const path of this.tree.containers()) {
      if (this.isAbandoned(path)) this.emptyContainers.set(path, nowMs + this.containerGraceMs);
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
    for (const path of this.tree.ttlNodes()) {
      const dueMs = this.ttlDueMs(path);
      if (dueMs !== undefined && dueMs < nowMs) paths.push(path);
    }
    return paths;
  }

  /** When {@link due} may find something; `undefined` when never. */
  nextDueMs(nowMs: number): number | undefined {
    let next: number | undefined;
    for (const dueMs of this.emptyContainers.values()) next = Math.min(next ?? dueMs, dueMs);
    for (const path of this.tree.ttlNodes()) {
      const dueMs = this.ttlDueMs(path);
      if (dueMs !== undefined) next = Math.min(next ?? Infinity, Math.max(dueMs + 1, nowMs));
    }
    this.earliestMs = next ?? Infinity;
    return next;
  }

  private isAbandoned(path: string): boolean {
    const node = this.tree.get(path);
    return node !== undefined && this.tree.containers().has(path) && node.childrenCreated > 0 && !node.children?.size;
  }

  /** A TTL znode with children is not due. */
  private ttlDueMs(path: string): number | undefined {
    const node = this.tree.get(path);
    if (node === undefined || (node.children?.size ?? 0) > 0) return undefined;
    const ttlMs = ttlOf(node.owner);
    return ttlMs === undefined ? undefined : node.mtime + ttlMs;
  }
}
