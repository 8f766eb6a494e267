/** An invariant does not hold. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
