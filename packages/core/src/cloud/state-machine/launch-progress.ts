import type { JsonObject, NodeRecord, Stat } from '@nodepool/zk-protocol';
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
  /** The instance was stopped, and the attempt starts it again. */
  readonly isStart?: boolean | undefined;
}

/** The value to store as `launchState`. */
export function encodeProgress({ attempt, beganMs, state, imageExternalId, isStart }: LaunchProgress): JsonObject {
  return {
    attempt,
    began: beganMs / 1000,
    ...(isStart === true && { start: true }),
    ...(imageExternalId !== undefined && { image: imageExternalId }),
    ...(state && { state: JSON.parse(JSON.stringify(state)) as JsonObject }),
  };
}

/** The value to store while the instance is stopped. @param state - of the driver's machine, which starts it */
export function encodeStopped(state: MachineState): JsonObject {
  return { attempt: 1, start: true, state: JSON.parse(JSON.stringify(state)) as JsonObject };
}

/**
 * The stored progress of a launch that another launcher began. Before its first own write, the launch is as old as the record, or
 * as the decision to start its stopped instance.
 * @param aheadMs - how far the clock of this process is ahead of ZooKeeper's
 * @param madeMs - when the record was made, as the clock of ZooKeeper changes with its leader
 */
export function readProgress(
  { launchState, stat, stateTimeMs }: Pick<NodeRecord, 'launchState' | 'stat' | 'stateTimeMs'>,
  aheadMs: number,
  madeMs = ({ ctime }: Pick<Stat, 'czxid' | 'ctime'>) => ctime,
): LaunchProgress {
  const { attempt, began, image, state, start } = launchState ?? {};
  const isStart = start === true;
  const firstMs = isStart ? stateTimeMs - aheadMs : stat ? madeMs(stat) : 0;
  return {
    attempt: typeof attempt === 'number' && attempt >= 1 ? Math.floor(attempt) : 1,
    // its writer may have counted from another agreed time, if it was cut off while another member came to lead
    beganMs: typeof began === 'number' ? Math.max(began * 1000, isStart ? -Infinity : firstMs) : firstMs,
    state: isMachineState(state) ? state : undefined,
    imageExternalId: typeof image === 'string' ? image : undefined,
    isStart,
  };
}

function isMachineState(value: unknown): value is MachineState & { readonly externalId: string } {
  const { name, externalId } = Object(value) as Partial<MachineState>;
  return typeof name === 'string' && typeof externalId === 'string';
}
