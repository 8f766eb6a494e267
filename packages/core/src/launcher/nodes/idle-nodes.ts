import { isIdle, isZooKeeperError, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { expireNode } from '../state/expire-node.js';
import type { Part } from '../state/part.js';
import { WorkQueue, type Step } from '../../async/work-queue.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };

/** What becomes of a node that no request and no client uses, as its record is now. */
export interface Verdict {
  /** Delete the node, for this reason; or what else to do. */
  readonly act: string | ((signal: AbortSignal) => Promise<unknown>);
  /** Not before so many milliseconds have passed; it is judged again then. Default: at once. */
  readonly afterMs?: number | undefined;
}

/** Judges an unlocked node that is free, stopped or held. Cheap and without I/O. `undefined`: the node stays. */
export type IdleJudge = (node: NodeRecord) => Verdict | undefined;

/**
 * Keeps idle nodes: looks at a node when its record, its lock, an operator's order or the configuration changed, and
 * carries out the verdict that is due first. What is judged is written with the version that it was judged by, so a node that changed
 * meanwhile is judged again.
 */
export class IdleNodes implements Part {
  readonly #context: Context;
  readonly #judges: IdleJudge[] = [];
  readonly #queue: WorkQueue<NodeId>;
  readonly #end = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context) {
    this.#context = context;
    const { events } = context;
    this.#queue = new WorkQueue(context, {
      decide: (id) => this.#decide(id),
      failed: (id, error) => {
        if (!isZooKeeperError(error)) context.logger.error('Could not act on an idle node', { nodeId: id, error });
        return RETRY;
      },
    });
    this.#unsubscribe = [
      events.on('nodeChanged', ({ id, after }) => {
        if (after) this.#queue.add(after.id);
        else this.#queue.forget(id as NodeId);
      }),
      events.on('nodeLockChanged', ({ id, contenders }) => contenders === 0 && this.#queue.add(id)),
      events.on('ordersChanged', () => this.reconsider()),
    ];
  }

  /** Of verdicts that are due at the same moment, that of the judge that was added first counts. */
  add(judge: IdleJudge): void {
    this.#judges.push(judge);
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#end.abort(new Error('the launcher stops'));
    void this.#queue.stop();
  }

  /** Judges every node again. */
  reconsider(): void {
    for (const { id } of this.#context.mirror.nodes.values()) this.#queue.add(id);
  }

  #decide(id: NodeId): Step | undefined {
    const { mirror, life } = this.#context;
    const node = mirror.nodes.get(id);
    if (!node || !life.isActive || mirror.nodes.contenders(id) > 0) return undefined;
    if (!isIdle(node) && node.state !== 'hold') return undefined;
    let first: Verdict | undefined;
    for (const judge of this.#judges) {
      const verdict = judge(node);
      if (verdict && (verdict.afterMs ?? 0) < (first?.afterMs ?? (first ? 0 : Infinity))) first = verdict;
    }
    if (!first) return undefined;
    const { act, afterMs } = first;
    const run = typeof act === 'string' ? () => expireNode(this.#context, node, act) : () => act(this.#end.signal);
    return { run, afterMs };
  }
}
