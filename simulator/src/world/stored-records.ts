import { CONTROLS_ROOT, classifyPath } from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';

/** Records in ZooKeeper with the transaction that last wrote each: the expected content of idle caches. */
export class StoredRecords {
  /** By path, like the other maps. */
  readonly components = new Map<string, bigint>();
  readonly controls = new Map<string, bigint>();
  readonly images = new Map<string, bigint>();

  /** Listener for the server. */
  readonly onTransaction: TransactionListener = ({ zxid, changes }) => {
    for (const change of changes) {
      if (!('path' in change) || change.change === 'setAcl') continue;
      const records = this.#recordsOf(change.path);
      if (change.change === 'delete') records?.delete(change.path);
      else if (!isOnlyBegun(change)) records?.set(change.path, BigInt(zxid));
    }
  };

  /** A record of a copy is served again. @param zxid - of the transaction that wrote it */
  restored(path: string, zxid: number): void {
    const records = this.#recordsOf(path);
    if (records?.has(path)) records.set(path, BigInt(zxid));
  }

  #recordsOf(path: string): Map<string, bigint> | undefined {
    const shape = classifyPath(path);
    if (shape.shape === 'component' || shape.shape === 'legacy-launcher') return this.components;
    if ('image' in shape) return this.images;
    const isControl = path.startsWith(`${CONTROLS_ROOT}/`) && path.split('/').length === CONTROL_PARTS;
    return isControl ? this.controls : undefined;
  }
}

/** A build or an upload is created empty, and is a record when it is written. */
function isOnlyBegun({ path, data }: { readonly path: string; readonly data: Buffer | null }): boolean {
  return ['build', 'upload'].includes(classifyPath(path).shape) && data?.length === 0;
}

/** Of `/nodepool/controls/<kind>/<name>`. */
const CONTROL_PARTS = 5;
