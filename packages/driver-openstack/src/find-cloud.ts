import type { ProviderConfigContext } from '@nodepool/core';
import { CredentialFiles, type Credentials } from './client/clouds/credentials.js';
import { placesOf, readCloudFiles } from './client/clouds/find-files.js';
import { readCloud } from './client/clouds/read-cloud.js';
import type { CloudFiles, CloudSettings } from './client/clouds/types.js';

type Env = Readonly<Record<string, string | undefined>>;

/** The part of a provider that `clouds.yaml` tells. */
export interface FoundCloud {
  /** How to reach the cloud; `undefined`: `clouds.yaml` does not tell, for the reason in `cloudProblem`. */
  readonly settings: CloudSettings | undefined;
  readonly cloudProblem: string | undefined;
  /** How to log in, as `clouds.yaml` says now. */
  readonly credentials: (() => Credentials) | undefined;
  /** Files that say so, or could. */
  readonly files?: readonly string[] | undefined;
}

/** Reads the files of clouds, once for each load of the configuration. */
export class CloudFileCache {
  /** What was found at the last load that found it. */
  readonly lastGood = new Map<string, FoundCloud>();
  #files: CloudFiles | undefined;
  #env: Env | undefined;

  /** Forgets what the files said. */
  reset(): void {
    this.#files = undefined;
  }

  /** @throws {ConfigError} a file is there and cannot be understood */
  get(env: Env): CloudFiles {
    if (this.#env !== env) this.reset();
    this.#env = env;
    return (this.#files ??= readCloudFiles({ env }));
  }
}

/**
 * Finds a cloud. One that cannot be found does not affect the other providers: it is reported, and when the provider starts
 * again. One that this process has found before stays as it was.
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
    const consequence = good ? '; what it said before stays in force' : '';
    context.problem(['cloud'], `${problem}${consequence}`, 'warning');
    const places = placesOf('clouds', { env }, 'OS_CLIENT_CONFIG_FILE');
    return good ?? { settings: undefined, credentials: undefined, files: places, cloudProblem: problem };
  }
}
