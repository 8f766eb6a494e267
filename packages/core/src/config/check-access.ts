import type { Clock } from '@nodepool/zk-protocol';
import type { Driver } from '../contract/driver.js';
import type { Logger } from '../contract/logger.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';

/** Lets {@link checkAccess} ask the clouds. */
export interface AccessCheck {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The cloud does not say what the account of a provider may do, which is no problem of the file. */
  readonly notKnown: (provider: string, why: string) => void;
}

interface AccessReading {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
  readonly signal: AbortSignal;
}

/** A provider of the file. */
interface AskedProvider {
  readonly index: number;
  readonly driver: Driver;
  readonly config: ProviderConfig;
}

/** Asks the clouds what the accounts of providers may not do, and warns of each right that is missing. */
export async function checkAccess(
  { document, problems, signal }: AccessReading,
  providers: readonly AskedProvider[],
  { clock, logger, notKnown }: AccessCheck,
): Promise<void> {
  const answers = await Promise.all(
    providers.map(async ({ index, driver, config }) => {
      try {
        const missing = driver.missingRights ? await driver.missingRights(config, { clock, logger, signal }) : [];
        return { index, config, missing };
      } catch (error) {
        return { index, config, why: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
  for (const { index, config, missing, why } of answers) {
    if (why !== undefined) notKnown(config.name, why);
    else if (!missing) notKnown(config.name, 'the cloud does not tell all rights of an account');
    for (const { right, cost } of missing ?? []) {
      const message = `the account of provider "${config.name}" may not ${right}: ${cost}`;
      problems.add(document, ['providers', index, 'name'], message, { severity: 'warning' });
    }
  }
}
