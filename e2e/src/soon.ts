/**
 * How long tests wait for what is to happen by itself, ms. It is no measure of speed: a machine may be ten times slower than
 * the one a test was written on. But it is less than the minute after which sweeps find what an event should have told.
 */
export const SOON_MS = 50_000;

/** Session timeout of launchers that are not to lose their session, however long a busy machine lets them wait, s. */
export const LAUNCHER_SESSION_S = 40;
