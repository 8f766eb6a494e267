import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { CloudResource, ContractCloud, MachineEnd } from './types.js';

/** Resources in the cloud of a test. */
export class CloudResources {
  readonly #cloud: Pick<ContractCloud, 'list' | 'endMachine'>;
  readonly #nodes: ReadonlyMap<NodeId, NodeRecord>;

  /** @param nodes - all node records; some clouds are defined by them alone */
  constructor(cloud: Pick<ContractCloud, 'list' | 'endMachine'>, nodes: ReadonlyMap<NodeId, NodeRecord>) {
    this.#cloud = cloud;
    this.#nodes = nodes;
  }

  async list(): Promise<readonly CloudResource[]> {
    return this.#cloud.list(this.#nodes);
  }

  async instances(): Promise<readonly CloudResource[]> {
    return (await this.list()).filter(({ type = 'instance' }) => type === 'instance');
  }

  async countInstances(): Promise<number> {
    return (await this.instances()).length;
  }

  /** Ids of all resources in any state. */
  async ids(): Promise<string[]> {
    return (await this.list()).map(({ id }) => id);
  }

  /** Ends the machine of a node, as another program does. @returns whether machines of this cloud can end like that */
  async endMachine({ externalId }: NodeRecord, how: MachineEnd): Promise<boolean> {
    const cloud = this.#cloud;
    if (!cloud.endMachine) throw new Error('give your ContractCloud "endMachine", which stops or deletes a machine');
    await this.list(); // some clouds know their machines by records
    return cloud.endMachine(typeof externalId === 'string' ? externalId : '', how);
  }

  /** Fails the test if an instance is not ready. */
  async assertAllReady(): Promise<void> {
    for (const { id, isReady } of await this.instances()) {
      if (!isReady)
        throw new Error(`instance ${id} of a node that is ready cannot be used: it is not complete, or broken`);
    }
  }
}
