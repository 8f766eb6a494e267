import { isAbsolute } from 'node:path';
import { textOf, type JsonObject } from '@nodepool/zk-protocol';
import type { Config, LeaseKeyConfig } from '../contract/config.js';
import type { Driver } from '../contract/driver.js';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';

/**
 * The keys with which the launcher logs in to nodes of leases, by provider. A driver whose nodes are parts of machines has none:
 * the key of one lessee would open the whole machine.
 * @param drivers - by name of the provider
 */
export function readLeaseKeys(
  list: readonly JsonObject[],
  drivers: ReadonlyMap<string, Driver>,
  { document, problems }: { readonly document: SourceDocument; readonly problems: ProblemCollector },
): NonNullable<Config['leaseKeys']> {
  const keys = new Map<string, LeaseKeyConfig>();
  for (const { index, name, entry } of namedEntries([...list])) {
    const file = textOf(entry['lease-ssh-key']);
    if (file === undefined) continue;
    const report = (text: string) => problems.add(document, ['providers', index, 'lease-ssh-key'], text);
    const capabilities = drivers.get(name)?.capabilities;
    if (!isAbsolute(file)) report(`"${file}" is no absolute path: write the whole path of the private key, from /`);
    else if (capabilities?.rampsLaunches === false) {
      report('its nodes are parts of machines, so a key of one lessee would open them all: remove "lease-ssh-key"');
    } else if (capabilities) keys.set(name, { file, isKeptOn: !capabilities.launches });
  }
  return keys;
}
