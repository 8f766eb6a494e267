/** Something that must never happen has happened. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
