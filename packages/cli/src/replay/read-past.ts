import { inform, type CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { registeredLaunchers } from '../connection/find-launchers.js';
import { fetchPast, type PastRange, type PastReader } from './fetch-past.js';

/** What was read of the histories. */
export interface ReadHistories {
  /** The sources that answered. */
  readonly answered: readonly string[];
  readonly damagedLines: number;
}

/**
 * Reads the histories of all launchers, or of named ones.
 * @param named - folders and web servers; empty: the launchers of the registry
 * @throws CliError a named source cannot be read, or none answered
 */
export async function readPast(
  context: CliContext,
  past: PastReader,
  named: readonly string[],
  range: PastRange,
): Promise<ReadHistories> {
  const sources = named.length > 0 ? named : await registeredLaunchers(context);
  const answered: string[] = [];
  let damagedLines = 0;
  for (const source of sources) {
    try {
      const damaged = await fetchPast(past, source, range, context.clock);
      if (damaged > 0) inform(`nodepool: ${source}: skipped ${damaged} damaged lines of its history`);
      damagedLines += damaged;
      answered.push(source);
    } catch (error) {
      if (named.length > 0) throw error;
      inform(`nodepool: ${describeError(error)}; what it knows is missing`);
    }
  }
  if (answered.length > 0) return { answered, damagedLines };
  throw new CliError('No launcher answered with its history: start one, or name its web server or folder with --from');
}
