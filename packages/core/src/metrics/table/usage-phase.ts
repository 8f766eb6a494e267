/** What a node exists for: to boot, to stand by, ready or stopped, for its user, or for the person who holds it. */
export const USAGE_PHASES = ['boot', 'standby', 'use', 'hold'] as const;
/** One of {@link USAGE_PHASES}. */
export type UsagePhase = (typeof USAGE_PHASES)[number];

/**
 * The phase that a node begins with a state.
 * @param isAllocated - to a request of a user
 * @param isLent - a node is on hold while a lessee uses it
 * @returns `undefined` if the phase before continues: a node that is deleted belongs to the phase that made it deletable
 */
export function usagePhase(state: string, isAllocated: boolean, isLent: boolean): UsagePhase | undefined {
  switch (state) {
    case 'building':
      return 'boot';
    case 'testing':
      return 'standby';
    case 'ready':
      return isAllocated ? 'use' : 'standby';
    case 'in-use':
      return 'use';
    case 'hold':
      return isLent ? 'use' : 'hold';
    default:
      return undefined;
  }
}

/** Whether a requestor is a launcher, which wants nodes to stand by or to divide them, and no user. */
export function isInternalRequestor(requestor: string | null): boolean {
  return requestor !== null && INTERNAL.test(requestor);
}

/** The command line and leases ask for users. */
const INTERNAL = /^NodePool:(?!cli:|lease$)/;
