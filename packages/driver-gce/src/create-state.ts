import type { CreateOrder, JsonObject } from '@nodepool/core';
import type { ComputeClient } from './client.js';
import type { GceInstance } from './instance.js';
import type { Placement, Stock } from './stock.js';

/** State of a creation. The external id is the name, so it is stored before the instance exists. */
export type CreateState =
  | { readonly name: 'start' }
  | ({ readonly name: 'inserting' } & Insert)
  /** The insert was refused because the name exists. */
  | ({ readonly name: 'identifying'; readonly refusal: string } & Insert)
  /** Without an external id: the instance of this name belongs to another node. */
  | { readonly name: 'name-taken'; readonly zone: string; readonly isByOwn: boolean }
  | ({ readonly name: 'waiting-for-operation'; readonly operation: string } & Insert)
  /** No operation: a repeated insert found the instance of the first one. */
  | ({ readonly name: 'waiting-for-instance'; readonly operation: string | undefined } & Insert)
  | StartingState
  | WaitingForStartState
  | {
      readonly name: 'waiting-for-host-keys';
      readonly externalId: string;
      readonly instance: GceInstance;
      /** It was started, not made: its host keys are known. */
      readonly isStarted: boolean;
    };

/** The instance was stopped: see `stop-node.ts`. */
export interface StartingState {
  readonly name: 'starting';
  readonly externalId: string;
  readonly placement: Placement;
  /** Makes a repeated start the same one, also of another launcher. */
  readonly requestId: string;
}

/** The start was accepted. */
export interface WaitingForStartState {
  readonly name: 'waiting-for-start';
  readonly externalId: string;
  readonly placement: Placement;
  readonly operation: string;
}

/** One insert of the instance. */
export interface Insert {
  readonly externalId: string;
  readonly placement: Placement;
  /** Makes a repeated insert idempotent; a label of the instance. */
  readonly requestId: string;
}

/** Context of a creation. */
export interface CreateContext {
  readonly client: ComputeClient;
  readonly stock: Stock;
  readonly name: string;
  /** As in `CreateOrder`. */
  readonly resumed?: CreateOrder['resumed'];
  /** Possible placements, best first. */
  placements(): Promise<readonly Placement[]>;
  body(placement: Placement, requestId: string): Promise<JsonObject>;
  /** The instance of this name, of any owner. */
  look(zone: string, name: string, signal: AbortSignal): Promise<GceInstance | undefined>;
  /** Whether an instance was provably created for this node. */
  isOfNode(instance: GceInstance): boolean;
  /** Whether an instance was provably created for a node of this provider and database. */
  isOwn(instance: GceInstance): boolean;
  /** Drops cached names after a resource of the order was not found. */
  forget(): void;
  newRequestId(): string;
  /** Completes the instance for the node record. */
  finish(instance: GceInstance): GceInstance;
  /**
   * Reads the published host keys, or those of before the start, once the SSH server uses them. `undefined`: host keys are not read.
   */
  readonly hostKeys?:
    | ((instance: GceInstance, isStarted: boolean, signal: AbortSignal) => Promise<readonly string[] | undefined>)
    | undefined;
  readonly hostKeysTimeoutMs: number;
}
