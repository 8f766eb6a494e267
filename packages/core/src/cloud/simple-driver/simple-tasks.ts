import type { Resources } from '@nodepool/zk-protocol';
import type { StateMachineLabelConfig } from '../state-machine/types.js';
import type { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './simple-adapter.js';
import type { TaskManager } from '../task-manager/task-manager.js';
import { Task } from '../task-manager/task.js';

interface OfAdapter {
  readonly adapter: SimpleTaskManagerAdapter;
}

/** `createInstance` of a simple adapter. */
export class CreateInstanceTask extends Task<
  OfAdapter & {
    readonly hostname: string;
    readonly metadata: Readonly<Record<string, string>>;
    readonly label: StateMachineLabelConfig;
  },
  string
> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<string> {
    const { adapter, hostname, metadata, label } = this.args;
    return adapter.createInstance(manager, hostname, metadata, label, signal);
  }
}

/** `deleteInstance` of a simple adapter. */
export class DeleteInstanceTask extends Task<OfAdapter & { readonly externalId: string }, void> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<void> {
    return this.args.adapter.deleteInstance(manager, this.args.externalId, signal);
  }
}

/** `tagInstance` of a simple adapter that has it. */
export class TagInstanceTask extends Task<
  OfAdapter & { readonly externalId: string; readonly tags: Readonly<Record<string, string>> },
  void
> {
  override async main(manager: TaskManager, signal: AbortSignal): Promise<void> {
    const { adapter, externalId, tags } = this.args;
    await adapter.tagInstance?.(manager, externalId, tags, signal);
  }
}

/** `listInstances` of a simple adapter. */
export class ListInstancesTask extends Task<OfAdapter, readonly SimpleTaskManagerInstance[]> {
  override async main(manager: TaskManager, signal: AbortSignal): Promise<readonly SimpleTaskManagerInstance[]> {
    const listed = await this.args.adapter.listInstances(manager, signal);
    for (const instance of listed) instance.ensureLoaded();
    return listed;
  }
}

/** `getQuotaLimits` of a simple adapter. */
export class QuotaLimitsTask extends Task<OfAdapter, Resources> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<Resources> {
    return this.args.adapter.getQuotaLimits(manager, signal);
  }
}

/** `getQuotaForLabel` of a simple adapter. */
export class QuotaForLabelTask extends Task<OfAdapter & { readonly label: StateMachineLabelConfig }, Resources> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<Resources> {
    return this.args.adapter.getQuotaForLabel(manager, this.args.label, signal);
  }
}
