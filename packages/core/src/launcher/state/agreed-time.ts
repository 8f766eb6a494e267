/** How far the time by which all launchers count is ahead of the clock of the ZooKeeper server that leads. */
export interface AgreedTime {
  readonly aheadMs: number;
  /** When that was written, by the clock of that server. */
  readonly sinceMs: number;
  /** Its term: each change of the leader begins another. */
  readonly term: number;
}

/** Share of the time by which the difference shrinks: at most 2.5 s an hour. */
const SHRINKS = 1 / 1440;
const TERM_SHIFT = 32n;

/** The term in which a transaction was made. */
export const termOf = (zxid: bigint): number => Number(zxid >> TERM_SHIFT);

/** Reads what a launcher wrote; `undefined`: nothing, or nothing that can be read. */
export function decodeAgreedTime(data: Buffer): AgreedTime | undefined {
  let raw: unknown;
  try {
    raw = JSON.parse(data.toString('utf8'));
  } catch {
    return undefined;
  }
  const { ahead, since, term } = Object(raw) as Record<string, unknown>;
  if (typeof ahead !== 'number' || typeof since !== 'number' || typeof term !== 'number') return undefined;
  return { aheadMs: ahead * 1000, sinceMs: since * 1000, term };
}

/** What a launcher writes for the others. */
export function encodeAgreedTime({ aheadMs, sinceMs, term }: AgreedTime): string {
  return JSON.stringify({ ahead: aheadMs / 1000, since: sinceMs / 1000, term });
}

/** The difference at a moment of the server's clock. */
export function aheadAt({ aheadMs, sinceMs }: AgreedTime, serverMs: number): number {
  const shrunkMs = Math.max(0, serverMs - sinceMs) * SHRINKS;
  return Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - shrunkMs);
}
