import { usagePhase, type UsagePhase } from '@nodepool/core/service';
import type { Resources } from '@nodepool/zk-protocol';
import type { PastEvent } from '../record/event.js';

/** The request that a node exists for; without one, it stands by. */
export interface Owner {
  readonly request: string | undefined;
  tenant: string | undefined;
  project: string | undefined;
}

/** A time that a node spent in one phase. */
export interface Span {
  readonly phase: UsagePhase;
  readonly owner: Owner;
  readonly beginMs: number;
  /** `undefined`: it has no recorded end. */
  readonly endMs: number | undefined;
}

/** An event of a node, with what its line said about the node. */
export interface NodeEvent extends Pick<PastEvent, 'timeMs' | 'what' | 'rule' | 'text'> {
  readonly request: string | undefined;
  readonly tenant: string | undefined;
}

/** What is recorded about one node by all launchers. */
export interface RecordedNode {
  label: string;
  /** `provider/pool`. */
  pool: string;
  resources: Resources | undefined;
  readonly events: NodeEvent[];
}

/** Tenant of a request; `undefined`: it came from a launcher, to keep nodes standing by. */
export type TenantOf = (request: string) => { readonly tenant: string | undefined } | undefined;

/** The phases of a node from its creation in the cloud until it is gone there. */
export class NodeLife {
  readonly spans: Span[] = [];
  readonly #tenantOf: TenantOf;
  #owner: Owner = NO_OWNER();
  #phase: UsagePhase | undefined;
  #sinceMs = 0;
  /** The stage that was taken for the beginning of its instance. */
  #begunBy: string | undefined;

  /** @param events - in order of time */
  constructor(events: readonly NodeEvent[], tenantOf: TenantOf) {
    this.#tenantOf = tenantOf;
    for (const event of events) this.#apply(event);
    if (this.#phase) this.#close(undefined);
  }

  #apply(event: NodeEvent): void {
    const { timeMs, what, rule, text } = event;
    if (what === 'gone') this.#end(timeMs);
    else if (what === 'stage') this.#stageBegan(timeMs, rule);
    else if (what === 'allocated') this.#allocated(timeMs, text === '' ? undefined : text);
    else if (what === 'state') this.#stateEntered(event);
  }

  #end(timeMs: number): void {
    this.#close(timeMs);
    this.#phase = undefined;
    this.#begunBy = undefined;
    this.#owner = NO_OWNER();
  }

  /** A node waits for its turn, and for the answer to its order. */
  #stageBegan(timeMs: number, stage: string): void {
    const isFirst = stage === 'creating' ? this.#begunBy === undefined : this.#begunBy !== 'booting';
    if ((stage !== 'creating' && stage !== 'booting') || !isFirst) return;
    this.#begunBy = stage;
    if (this.#phase === 'boot') this.#sinceMs = timeMs;
  }

  #allocated(timeMs: number, request: string | undefined): void {
    if (this.#owner.request === request) return;
    this.#close(timeMs);
    this.#own(request);
    if (this.#phase === 'standby' && this.#isOwned) this.#phase = 'use';
    else if (this.#phase === 'use' && !this.#isOwned) this.#phase = 'standby';
  }

  #stateEntered({ timeMs, rule, text, request, tenant }: NodeEvent): void {
    // a line without a request does not end an allocation: those of a lease name none
    if (request !== undefined && request !== this.#owner.request) this.#allocated(timeMs, request);
    const phase = usagePhase(rule, this.#isOwned, text === 'lease');
    if (phase !== undefined && phase !== this.#phase) {
      this.#close(timeMs);
      this.#phase = phase;
    }
    this.#owner.tenant ??= tenant;
    if (rule === 'in-use' && text !== '') this.#owner.project = text;
  }

  get #isOwned(): boolean {
    const { request } = this.#owner;
    return request !== undefined && this.#tenantOf(request) !== undefined;
  }

  #own(request: string | undefined): void {
    const tenant = request === undefined ? undefined : this.#tenantOf(request)?.tenant;
    this.#owner = { request, tenant, project: undefined };
  }

  #close(endMs: number | undefined): void {
    // a clock that went back makes no negative time
    const isEmpty = endMs !== undefined && endMs <= this.#sinceMs;
    if (this.#phase && !isEmpty)
      this.spans.push({ phase: this.#phase, owner: this.#owner, beginMs: this.#sinceMs, endMs });
    if (endMs !== undefined) this.#sinceMs = endMs;
  }
}

const NO_OWNER = (): Owner => ({ request: undefined, tenant: undefined, project: undefined });
