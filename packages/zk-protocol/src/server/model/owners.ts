/** `ephemeralOwner` of a container. */
export const CONTAINER_OWNER = -0x8000_0000_0000_0000n;

const TTL_MARK = 0xff00_0000_0000_0000n;
const MAX_TTL_MS = 0xff_ffff_ffff;

/** `ephemeralOwner` of a znode that expires `ttlMs` milliseconds after its last change; `undefined` if out of range. */
export function ttlOwner(ttlMs: number): bigint | undefined {
  if (!(ttlMs > 0 && ttlMs <= MAX_TTL_MS)) return undefined;
  return BigInt.asIntN(64, TTL_MARK | BigInt(ttlMs));
}

/** The time to live in an `ephemeralOwner`; `undefined` for other owners. */
export function ttlOf(owner: bigint): number | undefined {
  const unsigned = BigInt.asUintN(64, owner);
  if ((unsigned & TTL_MARK) !== TTL_MARK) return undefined;
  return Number(unsigned & BigInt(MAX_TTL_MS));
}

/** Whether the owner is a session. */
export function isEphemeral(owner: bigint): boolean {
  return owner !== 0n && owner !== CONTAINER_OWNER && ttlOf(owner) === undefined;
}
