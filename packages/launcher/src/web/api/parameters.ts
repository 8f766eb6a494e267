import { ApiError } from '@nodepool/daemon';
import { didYouMean } from '@nodepool/core/service';

/** Path parameter: the id of a record. */
export const ID = { type: 'string', description: 'Id of the record' };

/** Query parameter that filters a list. */
export const filter = (description: string) => ({ type: 'string', description });

/**
 * Checks a state in a query. Records of other versions may have states that this version does not know.
 * @throws {ApiError} if the state is unknown and no record has it
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

/** A UNIX time in seconds, as a decimal number. @returns ms; NaN for another text, `defaultMs` for none */
export function timeParameterMs(value: string | number | boolean | undefined, defaultMs: number): number {
  if (value === undefined) return defaultMs;
  return /^\d+(\.\d+)?$/.test(String(value)) ? Number(value) * 1000 : NaN;
}
