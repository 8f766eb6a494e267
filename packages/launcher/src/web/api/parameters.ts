import { ApiError } from '@nodepool/daemon';
import { didYouMean } from '@nodepool/core/service';

/** The id of a record, in a path. */
export const ID = { type: 'string', description: 'Id of the record' };

/** A text by which a list is narrowed, in a query. */
export const filter = (description: string) => ({ type: 'string', description });

/**
 * Makes sure that a state can be one; records of other versions may have states that are not known here.
 * @throws {ApiError} no record has it, and none can
 */
export function requireState(
  state: unknown,
  known: readonly string[],
  records: Iterable<{ readonly state: string }>,
): void {
  if (typeof state !== 'string' || known.includes(state)) return;
  for (const record of records) if (record.state === state) return;
  const text = `There is no state "${state}"${didYouMean(state, known) || '.'} States: ${known.join(', ')}`;
  throw new ApiError(400, 'unknown-state', text);
}
