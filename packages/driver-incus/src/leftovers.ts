import { isNodepoolError, isOurs, type Resource } from '@nodepool/core';
import type { ApiInstance, ApiOperation } from './api.js';
import type { IncusClient } from './client.js';
import { errorOfOperation } from './errors.js';
import type { Operations } from './operations.js';
import { asKeys, carries, tagsOf } from './ownership.js';

/** Dependencies of {@link Leftovers}. */
export interface LeftoversOptions {
  readonly client: IncusClient;
  readonly operations: Operations;
  readonly provider: string;
  readonly databaseId: string | undefined;
}

/** Instances of a provider, for the leak clean-up. */
export class Leftovers {
  readonly #options: LeftoversOptions;

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /** Those of these instances that carry Nodepool's keys. */
  of(shown: readonly ApiInstance[]): Resource[] {
    return shown.flatMap((each) => {
      const { name, created_at: created } = each;
      const metadata = tagsOf(each);
      if (Object.keys(metadata).length === 0) return [];
      const createdMs = Date.parse(created ?? '');
      return [{ type: 'instance', id: name, name, metadata, ...(createdMs > 0 && { createdMs }) }];
    });
  }

  /** Stops by force and deletes an instance, if it is still ours. */
  async delete({ id, metadata }: Resource, signal: AbortSignal): Promise<void> {
    const { client, provider, databaseId } = this.#options;
    const found = await client.instance(id, signal);
    const tags = found && tagsOf(found);
    if (!tags || !isOurs(tags, provider, databaseId) || !carries(tags, metadata)) return;
    try {
      if (found.status !== 'Stopped') await this.#untilEnded(await client.stopInstance(id, signal), signal);
      const error = await this.#untilEnded(await client.deleteInstance(id, signal), signal);
      if (error) throw error;
    } catch (error) {
      // ephemeral instances are deleted when they stop
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
    }
  }

  /** Adds tags to an instance. */
  tag({ id }: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    return this.#options.client.configureInstance(id, asKeys(tags), signal);
  }

  async #untilEnded(operation: ApiOperation, signal: AbortSignal): Promise<Error | undefined> {
    const ended = await this.#options.operations.untilEnded(operation, signal);
    return errorOfOperation(`operation ${operation.id}`, ended);
  }
}
