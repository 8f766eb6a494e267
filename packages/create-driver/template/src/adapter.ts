import type { Adapter, CreateOrder, DeleteOrder, Instance, Resource, Resources, StateMachine } from '@nodepool/core';
import type { CloudClient } from './client.js';
import type { TemplateLabelConfig, TemplatePoolConfig } from './config.js';
import { createMachine } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { toInstance, type TemplateInstance } from './instance.js';

/** Adapter between the cloud and Nodepool. Core implements waits, retries, key scan, quota and leak clean-up. */
export class TemplateAdapter implements Adapter<TemplateInstance, TemplateLabelConfig, TemplatePoolConfig> {
  readonly #client: CloudClient;

  constructor(client: CloudClient) {
    this.#client = client;
  }

  getCreateStateMachine(
    order: CreateOrder<TemplateLabelConfig, TemplatePoolConfig>,
  ): StateMachine<Instance, TemplateInstance> {
    const { hostname, label, metadata } = order;
    return createMachine(this.#client, {
      name: hostname,
      size: label.size,
      image: label.cloudImage ?? '',
      tags: metadata,
    });
  }

  getDeleteStateMachine({ externalId }: DeleteOrder): StateMachine<void, TemplateInstance> {
    return deleteMachine(this.#client, externalId);
  }

  async listInstances(signal: AbortSignal): Promise<TemplateInstance[]> {
    return (await this.#client.list(signal)).map(toInstance);
  }

  /** This cloud has only machines. If yours has separate volumes or ports, list them as well. */
  async listResources(signal: AbortSignal): Promise<Resource[]> {
    return (await this.#client.list(signal)).map(({ id, tags }) => ({ type: 'instance', id, metadata: tags }));
  }

  deleteResource({ id }: Resource, signal: AbortSignal): Promise<void> {
    return this.#client.delete(id, signal);
  }

  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const { machines } = await this.#client.limits(signal);
    return { instances: machines };
  }
}
