import type { LabelConfig, UnservedProvider } from '../contract/config.js';
import type { Driver } from '../contract/driver.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';

/** A complete file that was read without errors. */
export interface FileCheck {
  readonly document: SourceDocument;
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly unserved: ReadonlyMap<string, UnservedProvider>;
  /** By name of the provider. */
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly problems: ProblemCollector;
}
