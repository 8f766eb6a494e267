/**
 * Time limit for asynchronous effects in tests, ms. Generous for slow machines, but shorter than the interval of sweeps (one
 * minute), so that a sweep cannot hide a missed event.
 */
export const SOON_MS = 50_000;

/** Session timeout in seconds of launchers that must keep their session on a busy machine. */
export const LAUNCHER_SESSION_S = 40;
