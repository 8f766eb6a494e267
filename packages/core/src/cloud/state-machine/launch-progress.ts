import type { JsonObject, NodeRecord } from '@nodepool/zk-protocol';
import type { MachineState } from '../../contract/state-machine.js';

/** Progress of a launch, as another launcher needs it to continue. Stored in the node's record, in writes that happen anyway. */
export interface LaunchProgress {
  /** Counts from 1. */
  readonly attempt: number;
  /** Start of the attempt by the clock of ZooKeeper, which all launchers share, ms. */
  readonly beganMs: number;
  /** State of the driver's machine when the cloud told the external id; `undefined`: it has not. */
  readonly state?: MachineState | undefined;
  /** The cloud's id of the uploaded image that the instance is made from. */
  readonly imageExternalId?: string | undefined;
}

/** The value to store as `launchState`. */
export function encodeProgress({ attempt, beganMs, state, imageExternalId }: LaunchProgress): JsonObject {
  return {
    attempt,
    began: beganMs / 1000,
    ...(imageExternalId !== undefined && { image: imageExternalId }),
    ...(state && { state: JSON.parse(JSON.stringify(state)) as JsonObject }),
  };
}

/**
 * The stored progress of a launch that another launcher began. Before its first own write, the launch is as old as the record.
 */
export function readProgress({ launchState, stat }: Pick<NodeRecord, 'launchState' | 'stat'>): LaunchProgress {
  const { attempt, began, image, state } = launchState ?? {};
  return {
    attempt: typeof attempt === 'number' && attempt >= 1 ? Math.floor(attempt) : 1,
    beganMs: typeof began === 'number' ? began * 1000 : (stat?.ctime ?? 0),
    state: isMachineState(state) ? state : undefined,
    imageExternalId: typeof image === 'string' ? image : undefined,
  };
}

function isMachineState(value: unknown): value is MachineState & { readonly externalId: string } {
  const { name, externalId } = Object(value) as Partial<MachineState>;
  return typeof name === 'string' && typeof externalId === 'string';
}
