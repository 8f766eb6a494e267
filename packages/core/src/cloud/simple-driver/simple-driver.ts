import type { JsonObject, Resources } from '@nodepool/zk-protocol';
import {
  DRIVER_API_VERSION,
  type Driver,
  type DriverCapabilities,
  type JsonSchema,
  type Provider,
  type ProviderConfigContext,
  type ProviderContext,
} from '../../contract/driver.js';
import { type ProviderConfig } from '../../contract/provider-config.js';
import type { Resource } from '../../contract/instance.js';
import { StateMachineProvider } from '../state-machine/provider.js';
import type { StateMachineProviderParts } from '../state-machine/provider-parts.js';
import type { Adapter, StateMachineProviderConfig, StateMachineLabelConfig } from '../state-machine/types.js';
import type { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './simple-adapter.js';
import { simpleCreateMachine, simpleDeleteMachine } from './simple-machines.js';
import { TaskManager } from '../task-manager/task-manager.js';
import { Task } from '../task-manager/task.js';

/** Name of the tag that carries the public key of an image, where it has one. */
export const SSH_KEYS_TAG = 'ssh-keys';

/** Limit of the key scan where no boot-timeout is set: what such a cloud calls ready may still have to boot. */
const KEY_SCAN_MS = 180_000;

/**
 * Base of simple drivers: implement what is abstract and export an instance as `driver`. Calls of one provider are made
 * one at a time, at the rate of its configuration; waiting, retries, key scan, quota and leaks are core's. The key scan
 * has the provider's boot timeout where its entry sets one, else three minutes.
 */
export abstract class SimpleTaskManagerDriver<
  Config extends StateMachineProviderConfig = StateMachineProviderConfig,
> implements Driver {
  abstract readonly name: string;
  abstract readonly schema: JsonSchema;
  readonly apiVersion = DRIVER_API_VERSION;
  readonly capabilities: DriverCapabilities = { launches: true, pausesAtQuota: true, managesImages: false };

  /** How long one call of the adapter may take; then it fails, and the next one is made. Default 300,000. */
  readonly taskTimeoutMs?: number | undefined;

  /** Typed form of a provider entry that has passed the schema. */
  abstract getProviderConfig(entry: JsonObject, context: ProviderConfigContext): Config;

  /** The adapter of a provider. Must not do I/O. */
  abstract getAdapter(config: Config): SimpleTaskManagerAdapter;

  getProvider(config: ProviderConfig, context: ProviderContext, parts: StateMachineProviderParts = {}): Provider {
    if (config.driverName !== this.name) {
      throw new TypeError(`provider "${config.name}" is not configured for driver "${this.name}"`);
    }
    // The host hands back what getProviderConfig of this same driver made.
    const own = config as Config;
    const manager = new TaskManager(own.name, {
      clock: context.clock,
      logger: context.logger,
      metrics: context.metrics,
      requestsPerSecond: own.requestsPerSecond,
      taskTimeoutMs: this.taskTimeoutMs,
      measuredFrom: 'end',
      maxParallel: 1,
      random: () => context.random(),
    });
    // A driver may have a default of its own, which is no less than it needs.
    const isSet = own.entry['boot-timeout'] !== undefined;
    const keyScanTimeoutMs = isSet ? own.bootTimeoutMs : Math.max(KEY_SCAN_MS, own.bootTimeoutMs);
    return new StateMachineProvider(own, context, () => simpleAdapter(this.getAdapter(own), manager), {
      keyScanTimeoutMs,
      ...parts,
    });
  }
}

/** A simple adapter as the state-machine provider wants it: every call is a task. */
function simpleAdapter(adapter: SimpleTaskManagerAdapter, manager: TaskManager): Adapter {
  const run = <T>(task: Task<object, T>, signal: AbortSignal) => manager.submitTask(task, { signal }).wait();
  const listInstances = (signal: AbortSignal) => run(new ListInstancesTask({ adapter }), signal);
  const deleteInstance = (externalId: string, signal: AbortSignal) =>
    run(new DeleteInstanceTask({ adapter, externalId }), signal);
  return {
    stop: async () => {
      manager.stop();
      await manager.join();
    },
    getCreateStateMachine: ({ node, label, metadata, attempt }) => {
      const tags = { ...metadata, ...sshKeys(adapter, label.cloudImage) };
      const order = { adapter, hostname: `nodepool-${node.id}`, metadata: tags, label };
      const create = (signal: AbortSignal) => run(new CreateInstanceTask(order), signal);
      return simpleCreateMachine({
        calls: { create },
        metadata: tags,
        isRepeated: attempt > 1,
        lagMs: adapter.listLagMs,
      });
    },
    getDeleteStateMachine: ({ externalId }) => simpleDeleteMachine(externalId, { delete: deleteInstance }),
    ...(adapter.listLagMs !== undefined && { listLagMs: adapter.listLagMs }),
    taskManagers: () => [manager],
    listInstances,
    listResources: async (signal) =>
      (await listInstances(signal))
        .filter(({ deleted }) => !deleted)
        .map(({ externalId, metadata }): Resource => ({ type: 'instance', id: externalId, metadata })),
    deleteResource: ({ id }, signal) => deleteInstance(id, signal),
    ...(adapter.tagInstance && {
      tagResource: ({ id }: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal) =>
        run(new TagInstanceTask({ adapter, externalId: id, tags }), signal),
    }),
    getQuotaLimits: (signal) => run(new QuotaLimitsTask({ adapter }), signal),
    getQuotaForLabel: (label, _pool, signal) => run(new QuotaForLabelTask({ adapter, label }), signal),
  };
}

function sshKeys(adapter: SimpleTaskManagerAdapter, image: string | undefined): Record<string, string> {
  const configured = image === undefined ? undefined : adapter.provider.cloudImages.get(image);
  if (configured?.key === undefined) return {};
  return { [SSH_KEYS_TAG]: `${configured.username ?? 'zuul'}:${configured.key}` };
}

interface OfAdapter {
  readonly adapter: SimpleTaskManagerAdapter;
}

/** `createInstance` of a simple adapter. */
class CreateInstanceTask extends Task<
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
class DeleteInstanceTask extends Task<OfAdapter & { readonly externalId: string }, void> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<void> {
    return this.args.adapter.deleteInstance(manager, this.args.externalId, signal);
  }
}

/** `tagInstance` of a simple adapter that has it. */
class TagInstanceTask extends Task<
  OfAdapter & { readonly externalId: string; readonly tags: Readonly<Record<string, string>> },
  void
> {
  override async main(manager: TaskManager, signal: AbortSignal): Promise<void> {
    const { adapter, externalId, tags } = this.args;
    await adapter.tagInstance?.(manager, externalId, tags, signal);
  }
}

/** `listInstances` of a simple adapter. */
class ListInstancesTask extends Task<OfAdapter, readonly SimpleTaskManagerInstance[]> {
  override async main(manager: TaskManager, signal: AbortSignal): Promise<readonly SimpleTaskManagerInstance[]> {
    const listed = await this.args.adapter.listInstances(manager, signal);
    for (const instance of listed) instance.ensureLoaded();
    return listed;
  }
}

/** `getQuotaLimits` of a simple adapter. */
class QuotaLimitsTask extends Task<OfAdapter, Resources> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<Resources> {
    return this.args.adapter.getQuotaLimits(manager, signal);
  }
}

/** `getQuotaForLabel` of a simple adapter. */
class QuotaForLabelTask extends Task<OfAdapter & { readonly label: StateMachineLabelConfig }, Resources> {
  override main(manager: TaskManager, signal: AbortSignal): Promise<Resources> {
    return this.args.adapter.getQuotaForLabel(manager, this.args.label, signal);
  }
}
