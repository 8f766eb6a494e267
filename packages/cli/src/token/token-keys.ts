import type { Config } from '@nodepool/core';
import { findEmbeddedServer, MAKE_TOKEN_KEY, readTokenKey, stateDirCandidates } from '@nodepool/core/config';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';

/** Keys of tokens, as the launchers of this database have them. */
export interface TokenKeys {
  /** The first signs; empty if {@link problem} says why. */
  readonly keys: readonly string[];
  /** Why there is no key here, with the fix. */
  readonly problem: string | undefined;
}

/**
 * The keys of the secure file, and of the state directory of an embedded server on this machine.
 * @param config - `undefined`: there is no configuration file
 */
export async function findTokenKeys(context: CliContext, config: Config | undefined): Promise<TokenKeys> {
  const configured = config?.tokenKeys ?? [];
  if ((config?.zookeeper.servers.length ?? 0) > 0) {
    if (configured.length > 0) return { keys: configured, problem: undefined };
    const { secureFile } = context.options;
    const where =
      secureFile === undefined ? 'name the secure file of the launchers with -s' : `it is not in ${secureFile}`;
    return {
      keys: [],
      problem: `token-keys, which sign tokens, are not known: ${where}; to make one: ${MAKE_TOKEN_KEY}`,
    };
  }
  try {
    const found = await findEmbeddedServer(
      stateDirCandidates({ stateDir: context.options.stateDir, env: context.env }),
    );
    const own = found ? [await readTokenKey(found.stateDir)] : [];
    return { keys: [...configured, ...own], problem: undefined };
  } catch (error) {
    if (configured.length > 0) return { keys: configured, problem: undefined };
    if (isNodepoolError(error, 'NODEPOOL_STATE_DIR')) return { keys: [], problem: error.message };
    throw error;
  }
}

/** The key that signs new tokens. @throws CliError there is none here */
export function signingKey({ keys: [first], problem }: TokenKeys): string {
  if (first !== undefined) return first;
  throw new CliError(problem ?? 'no embedded server runs here, so there is no key that signs tokens');
}
