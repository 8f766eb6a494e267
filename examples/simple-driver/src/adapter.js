import { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from '@nodepool/core';
import { ShedClient } from './client.js';

/** One machine from the shed's list. */
class ShedInstance extends SimpleTaskManagerInstance {
  load(machine) {
    this.ready = machine.status === 'on';
    this.deleted = machine.status === 'scrapped';
    // a ready node whose machine is off is withdrawn
    this.unusable = machine.status === 'on' ? undefined : `the shed shows it as ${machine.status}`;
    this.externalId = machine.id;
    this.interfaceIp = machine.address;
    this.publicIpv4 = machine.address;
    this.metadata = machine.tags;
  }
}

/**
 * Adapter between the shed and Nodepool. Calls run one at a time, spaced by `rateLimit`. The signal aborts a call that
 * takes longer than the driver's `taskTimeoutMs`.
 */
export class ShedAdapter extends SimpleTaskManagerAdapter {
  #client;

  constructor(provider) {
    super(provider);
    this.#client = new ShedClient(provider.url);
  }

  async createInstance(taskManager, hostname, metadata, label, signal) {
    const order = { name: hostname, size: label.size, tags: metadata };
    const machine = await taskManager.rateLimit(() => this.#client.create(order, signal), signal);
    return machine.id;
  }

  async deleteInstance(taskManager, externalId, signal) {
    await taskManager.rateLimit(() => this.#client.delete(externalId, signal), signal);
  }

  async listInstances(taskManager, signal) {
    const machines = await taskManager.rateLimit(() => this.#client.list(signal), signal);
    return machines.map((machine) => new ShedInstance(machine));
  }

  async getQuotaLimits(taskManager, signal) {
    const limits = await taskManager.rateLimit(() => this.#client.limits(signal), signal);
    return { instances: limits.machines };
  }
}
