import { isPoolComponent } from '@nodepool/zk-protocol';
import { closestWord } from '../command/closest.js';
import { CliError } from '../command/errors.js';
import type { CliContext } from '../command/context.js';
import { loadIfPresent } from '../connection/connection.js';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';

/**
 * Rejects labels that neither a registered launcher nor the local configuration has, as typing errors. Accepts all labels while no
 * launcher is registered.
 * @throws CliError with the label that was probably meant
 */
export async function checkLabels(context: CliContext, source: RecordSource, labels: readonly string[]): Promise<void> {
  const pools = (await fetchComponents(source, 'pool')).filter(isPoolComponent);
  if (pools.length === 0) return;
  const configured = (await loadIfPresent(context))?.labels.keys() ?? [];
  const known = [...new Set([...pools.flatMap((pool) => pool.supportedLabels), ...configured])].sort();
  const unknown = labels.find((label) => !known.includes(label));
  if (unknown === undefined) return;
  const meant = closestWord(unknown, known);
  const hint = meant === undefined ? 'nodepool labels lists those that are offered.' : `did you mean ${meant}?`;
  throw new CliError(`No launcher offers the label ${unknown}, ${hint} Use --force to request it anyway`);
}
