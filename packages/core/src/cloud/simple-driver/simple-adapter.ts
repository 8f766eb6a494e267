import type { Json, JsonObject, Resources } from '@nodepool/zk-protocol';
import type { Instance } from '../../contract/instance.js';
import type { StateMachineLabelConfig, StateMachineProviderConfig } from '../state-machine/types.js';
import type { TaskManager } from '../task-manager/task-manager.js';

/**
 * An instance as a simple driver reads it out of the cloud's own data. Implement `load`, which has to set at least
 * `ready`, `deleted`, `externalId`, `interfaceIp` and `metadata`. It is called once, by core or by `ensureLoaded`, and not by
 * the constructor: fields that a subclass declares would be reset after that.
 */
export abstract class SimpleTaskManagerInstance<Data = unknown> implements Instance {
  ready = false;
  deleted = false;
  /** Why an instance that was ready cannot be used any more, such as `it is stopped`: see {@link Instance}. */
  unusable: string | undefined;
  externalId = '';
  interfaceIp: string | null = null;
  metadata: Readonly<Record<string, string>> = {};
  publicIpv4: string | null = null;
  publicIpv6: string | null = null;
  privateIpv4: string | null = null;
  az: string | null = null;
  region: string | null = null;
  privateIpv6: string | null = null;
  cloud: string | null = null;
  hostId: string | null = null;
  driverData: Json | undefined;
  slot: number | null = null;
  /** What is not set here, and in the four fields below, is taken from the image of the label. */
  username: string | null | undefined;
  pythonPath: string | null | undefined;
  shellType: string | null | undefined;
  connectionPort: Json | undefined;
  connectionType: string | null | undefined;
  /** Host keys known without asking the instance, as `<type> <base64>`. */
  hostKeys: readonly string[] | undefined;
  nodeAttributes: JsonObject | undefined;
  readonly #data: Data;
  #isLoaded = false;

  /** @param data - one entry of the cloud's list */
  constructor(data: Data) {
    this.#data = data;
  }

  /** Has the data read, unless it has been. Core does so with what `listInstances` returns. */
  ensureLoaded(): this {
    if (!this.#isLoaded) {
      this.#isLoaded = true;
      this.load(this.#data);
    }
    return this;
  }

  /** What it counts against the quota. */
  get resources(): Resources {
    return this.getQuotaInformation();
  }

  /** Reads the cloud's data. */
  abstract load(data: Data): void;

  /** What it counts against the quota. Default: one instance. */
  getQuotaInformation(): Resources {
    return { instances: 1 };
  }
}

/**
 * A cloud in a few methods, called one at a time. Each call to the cloud belongs into `taskManager.rateLimit`, so that
 * it keeps the provider's rate. Each method is handed a signal, for `fetch` and the like: it says that no caller waits
 * for the answer any more, as the method took longer than the driver's `taskTimeoutMs`, or its launch was given up.
 */
export abstract class SimpleTaskManagerAdapter<
  Config extends StateMachineProviderConfig = StateMachineProviderConfig,
  Label extends StateMachineLabelConfig = StateMachineLabelConfig,
> {
  readonly provider: Config;

  /**
   * For how long `listInstances` may miss an instance that was made, or show one that is gone, ms. Core waits as long before it
   * makes a second instance after a lost answer, and before it deletes what looks leaked. Default: 0.
   */
  readonly listLagMs?: number | undefined;

  constructor(provider: Config) {
    this.provider = provider;
  }

  /** Starts making an instance that carries these tags. Returns its external id without waiting for it to be ready. */
  abstract createInstance(
    taskManager: TaskManager,
    hostname: string,
    metadata: Readonly<Record<string, string>>,
    label: Label,
    signal: AbortSignal,
  ): Promise<string>;

  /** Starts deleting an instance. @throws {NotFoundError} there is none */
  abstract deleteInstance(taskManager: TaskManager, externalId: string, signal: AbortSignal): Promise<void>;

  /** All instances of the project, ours or not. */
  abstract listInstances(taskManager: TaskManager, signal: AbortSignal): Promise<readonly SimpleTaskManagerInstance[]>;

  /**
   * Adds tags to an instance and keeps its others. Missing: instances keep the tags they were made with, so that those of
   * another database cannot be handed over to this one.
   */
  tagInstance?(
    taskManager: TaskManager,
    externalId: string,
    tags: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void>;

  /** What the cloud allows. Default: everything. */
  getQuotaLimits(_taskManager: TaskManager, _signal: AbortSignal): Promise<Resources> {
    return Promise.resolve({});
  }

  /** What one node of the label needs. Default: one instance. */
  getQuotaForLabel(_taskManager: TaskManager, _label: Label, _signal: AbortSignal): Promise<Resources> {
    return Promise.resolve({ instances: 1 });
  }
}
