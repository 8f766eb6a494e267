import type { Resources } from '@nodepool/zk-protocol';
import type { LaunchResult } from '../../contract/driver.js';

/** A launch that has been decided on. It counts for quota and `max-concurrency` until it has ended. */
export interface PlannedLaunch {
  /** What the node will use. */
  readonly need: Resources;
  /** The node's record is stored and counts for the quota from now on. @param zone - of the node, if it is known */
  recorded(zone: string | null): void;
  /** As in `LaunchOrder`; missing: the provider is not steered around. */
  readonly attemptFailed?: ((error: Error) => boolean) | undefined;
  /** As in `LaunchOrder`. */
  readonly created?: (() => void) | undefined;
  /** It is over. Later calls do nothing. @param result - `undefined`: the driver was never asked */
  ended(result: LaunchResult | undefined): void;
}
