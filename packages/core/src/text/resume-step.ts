import type { ControlRecord } from '@nodepool/zk-protocol';

/** Owner of the orders of the command `nodepool rollback`, followed by the name of its user. */
export const ROLLBACK_OWNER = 'nodepool rollback';

/** What ends an order: `rollback` gives its orders again as long as it runs, and they end with it. */
export function resumeStep({ kind, name, owner }: Pick<ControlRecord, 'kind' | 'name' | 'owner'>): string {
  if (owner.startsWith(ROLLBACK_OWNER)) return `let the running ${owner} end, or interrupt it: this order ends with it`;
  return `nodepool ${kind} resume ${name}`;
}
