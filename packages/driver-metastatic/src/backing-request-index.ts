import type { ProviderContext } from '@nodepool/core';
import { isZooKeeperError } from '@nodepool/zk-protocol';
import type { CancelTimer, Json, NodeId, RecordChange, RequestId, RequestRecord } from '@nodepool/zk-protocol';

/** How long a node that another launcher takes over counts as arriving. */
const ARRIVAL_MS = 5_000;

/** Callbacks of a {@link BackingRequestIndex}. */
export interface BackingRequestListener {
  labelChanged(label: string): void;
  /** A backing request of this launcher was fulfilled. */
  fulfilled(request: RequestRecord, label: string): void;
  /** A backing request of this launcher was declined by all providers. */
  failed(request: RequestRecord, label: string): void;
  /** A request, of any kind, was deleted. */
  gone(id: RequestId): void;
}

/** Open backing requests of a provider in all launchers, and nodes that are being taken over. */
export class BackingRequestIndex {
  readonly #context: ProviderContext;
  readonly #owner: string;
  /** The label of a backing request that does not name it. */
  readonly #labelOf: (backingLabel: string) => string | undefined;
  readonly #listener: BackingRequestListener;
  readonly #open = new Map<string, Map<RequestId, RequestRecord>>();
  readonly #arriving = new Map<NodeId, { label: string; cancel: CancelTimer }>();
  #unsubscribe: (() => void)[] = [];

  constructor(
    context: ProviderContext,
    owner: string,
    labelOf: (backingLabel: string) => string | undefined,
    listener: BackingRequestListener,
  ) {
    this.#context = context;
    this.#owner = owner;
    this.#labelOf = labelOf;
    this.#listener = listener;
  }

  open(): void {
    const { requests, nodes } = this.#context;
    this.#unsubscribe = [
      requests.onChange((change) => this.#changed(change)),
      requests.onReady((ready) => ready && this.recheck()),
      nodes.onChange(({ id }) => this.#arrived(id as NodeId)),
    ];
    for (const request of requests.values()) {
      this.#changed({ id: request.id, before: undefined, after: request });
    }
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    for (const { cancel } of this.#arriving.values()) cancel();
    this.#arriving.clear();
  }

  /** Backing nodes of the label that any launcher has requested or is taking over. */
  expected(label: string): number {
    let arriving = 0;
    for (const each of this.#arriving.values()) if (each.label === label) arriving++;
    return arriving + (this.#open.get(label)?.size ?? 0);
  }

  /** Labels with past or present requests. */
  labels(): string[] {
    return [...this.#open.keys()];
  }

  /** Open requests of the label, of all launchers, oldest first. */
  ofLabel(label: string): RequestRecord[] {
    return [...(this.#open.get(label)?.values() ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Whether this session created the request. Only its own requests may be withdrawn, and their nodes taken over. */
  isOwn(request: RequestRecord): boolean {
    return request.stat?.ephemeralOwner === this.#context.zk.sessionId;
  }

  /** Reports the outcomes of this launcher's requests again. */
  recheck(): void {
    for (const requests of [...this.#open.values()]) {
      for (const request of [...requests.values()]) this.#reportEnd(request);
    }
  }

  #changed({ id, before, after }: RecordChange<RequestRecord>): void {
    if (after === undefined) this.#listener.gone(id as RequestId);
    const request = after ?? before;
    if (request?.requestor !== this.#owner) return;
    const label = this.#label(request);
    if (label === undefined) return;
    if (after !== undefined && after.state !== 'failed') this.#openOf(label).set(after.id, after);
    else this.#openOf(label).delete(request.id);
    if (!after && before) this.#expectNode(before, label);
    this.#listener.labelChanged(label);
    if (after) this.#reportEnd(after);
  }

  #reportEnd(request: RequestRecord): void {
    const label = this.#label(request);
    if (label === undefined || !this.isOwn(request)) return;
    if (request.state === 'fulfilled') this.#listener.fulfilled(request, label);
    else if (request.state === 'failed') this.#listener.failed(request, label);
  }

  /** Another launcher has taken the node over, but its record is not in the cache yet. */
  #expectNode(request: RequestRecord, label: string): void {
    const [id] = request.nodeIds;
    if (request.state !== 'fulfilled' || id === undefined || this.isOwn(request)) return;
    if (this.#context.nodes.get(id)?.state === 'in-use') return;
    this.#arriving.get(id)?.cancel();
    const cancel = this.#context.clock.setTimer(ARRIVAL_MS, () => this.#arrived(id));
    this.#arriving.set(id, { label, cancel });
  }

  #arrived(id: NodeId): void {
    const arrival = this.#arriving.get(id);
    if (!arrival) return;
    arrival.cancel();
    this.#arriving.delete(id);
    this.#listener.labelChanged(arrival.label);
  }

  #label(request: RequestRecord): string | undefined {
    return readLabel(request.requestorData) ?? this.#labelOf(request.labels[0] ?? '');
  }

  #openOf(label: string): Map<RequestId, RequestRecord> {
    let open = this.#open.get(label);
    if (!open) this.#open.set(label, (open = new Map<RequestId, RequestRecord>()));
    return open;
  }
}

function readLabel(data: Json): string | undefined {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  return typeof data['label'] === 'string' ? data['label'] : undefined;
}

/** Deletes a request. @returns false if it was written after `version`; true if it is gone */
export async function deleteRequest(context: ProviderContext, path: string, version?: number): Promise<boolean> {
  try {
    await context.committer.commit([{ op: 'delete', path, ...(version !== undefined && { version }) }]);
    return true;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return true;
    if (isZooKeeperError(error, 'ZK_BAD_VERSION')) return false;
    throw error;
  }
}
