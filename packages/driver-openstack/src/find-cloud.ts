import type { ProviderConfigContext } from '@nodepool/core';
import { CredentialFiles, type Credentials } from './client/clouds/credentials.js';
import { placesOf, readCloudFiles } from './client/clouds/find-files.js';
import { readCloud } from './client/clouds/read-cloud.js';
import type { CloudFiles, CloudSettings } from './client/clouds/types.js';

type Env = Readonly<Record<string, string | undefined>>;

/** The part of a provider that comes from `clouds.yaml`. */
export interface FoundCloud {
  /** How to reach the cloud; `undefined`: not found, for the reason in `cloudProblem`. */
  readonly settings: CloudSettings | undefined;
  readonly cloudProblem: string | undefined;
  /** Current credentials of `clouds.yaml`. */
  readonly credentials: (() => Credentials) | undefined;
  /** Files that define the cloud, or could. */
  readonly files?: readonly string[] | undefined;
}

/** Reads the files of clouds once for each load of the configuration. */
export class CloudFileCache {
  /** Last successful result. */
  readonly lastGood = new Map<string, FoundCloud>();
  #files: CloudFiles | undefined;
  #env: Env | undefined;

  /** Drops the cached files. */
  reset(): void {
    this.#files = undefined;
  }

  /** @throws {ConfigError} a file is invalid */
  get(env: Env): CloudFiles {
    if (this.#env !== env) this.reset();
    this.#env = env;
    return (this.#files ??= readCloudFiles({ env }));
  }
}

/**
 * Finds a cloud. A missing cloud does not affect other providers: it is reported now and when the provider starts. A cloud
 * that was found before keeps its settings.
 */
export function findCloud(
  files: CloudFileCache,
  cloud: string,
  region: string | undefined,
  context: ProviderConfigContext,
): FoundCloud {
  const { env = {} } = context;
  const key = JSON.stringify([cloud, region]);
  try {
    const read = files.get(env);
    const { settings, ignored } = readCloud(read, cloud, region);
    if (ignored.length > 0) {
      const message = `cloud "${cloud}": not supported, and without effect: ${ignored.join(', ')}`;
      context.problem(['cloud'], message, 'warning');
    }
    const readAuth = () => readCloud(readCloudFiles({ env }), cloud, region).settings.auth;
    const { files: found } = read;
    const credentialFiles = new CredentialFiles(settings.auth, found, readAuth);
    const credentials = () => credentialFiles.current;
    const good: FoundCloud = { settings, credentials, files: found, cloudProblem: undefined };
    files.lastGood.set(key, good);
    return good;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const good = files.lastGood.get(key);
    const consequence = good ? '; its previous content stays in force' : '';
    context.problem(['cloud'], `${problem}${consequence}`, 'warning');
    const places = placesOf('clouds', { env }, 'OS_CLIENT_CONFIG_FILE');
    return good ?? { settings: undefined, credentials: undefined, files: places, cloudProblem: problem };
  }
}
