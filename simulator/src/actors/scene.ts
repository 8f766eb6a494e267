import type { Random } from '@nodepool/core/testing';
import type { ConfigSpec } from '../fleets/config.js';
import type { Fleet } from '../fleets/fleet.js';
import type { World } from '../world/world.js';
import type { BrokenTool } from './broken-tool.js';
import type { SimulatedLauncher } from './launcher.js';
import type { Lessee } from './lessee.js';
import type { NewerRelease } from './newer-release.js';
import type { Operator } from './operator.js';

/** Who takes part in the faults that happen at random times. */
export interface Scene {
  readonly world: World;
  readonly random: Random;
  readonly launchers: readonly SimulatedLauncher[];
  readonly lessees: readonly Lessee[];
  readonly fleets: readonly Fleet[];
  readonly labels: readonly string[];
  readonly operator: Operator;
  readonly newer: NewerRelease | undefined;
  readonly tool: BrokenTool | undefined;
  /** The intended configuration of all launchers. */
  readonly spec: () => ConfigSpec;
  /** Gives all launchers the present configuration, each at another time. */
  readonly reload: () => void;
  /** Calls `act` at random times while there are faults. */
  readonly repeat: (meanMs: number, act: () => void) => void;
}
