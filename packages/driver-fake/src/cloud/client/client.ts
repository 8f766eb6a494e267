import type { JsonObject } from '@nodepool/zk-protocol';
import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
} from '@nodepool/core';
import type { CallName, CloudCalls } from './api.js';
import { CloudFailure } from '../model/types.js';
import type { CloudInstance, Flavor, InstanceEvent, InstanceOrder, UploadedImage } from '../model/types.js';

/** Carries calls to a cloud, wherever it runs. */
export interface CloudTransport {
  /** Rejects with `CloudFailure`, or with the signal's reason. */
  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]>;
  /**
   * Reports instances from now on: first all there are, then what changes. After a lost connection it begins anew with
   * `reset`.
   */
  subscribe(listener: TransportListener): void;
  /** Resolves when calls can be made and all instances have been reported. */
  ready(signal?: AbortSignal): Promise<void>;
  close(): void | Promise<void>;
}

/** What a transport reports. */
export interface TransportListener {
  event(event: InstanceEvent): void;
  /** All instances follow; what is not among them is gone. */
  reset(): void;
  /** All instances have been reported. */
  complete(): void;
}

/**
 * The calls of a cloud the driver needs. Errors are those of core: `QuotaError`, `CapacityError`, `NotFoundError`,
 * `ProviderUnavailableError`, `RateLimitedError`; for an order that can never work `ConfigError`.
 */
export interface CloudClient {
  /** Connects, and starts the cloud when need be. */
  start(signal: AbortSignal): Promise<void>;
  close(): void | Promise<void>;
  configure(owner: string, settings: JsonObject, signal?: AbortSignal): Promise<void>;
  create(order: InstanceOrder, signal?: AbortSignal): Promise<CloudInstance>;
  /** Resolves to true when it is gone already, to false when it will be. */
  remove(id: string, signal?: AbortSignal): Promise<boolean>;
  get(id: string, signal?: AbortSignal): Promise<CloudInstance | undefined>;
  /** All instances as they are at the time of the call: only what has changed is transferred. */
  list(signal?: AbortSignal): Promise<Iterable<CloudInstance>>;
  /** Instances that carry a tag. */
  find(name: string, value: string, signal?: AbortSignal): Promise<readonly CloudInstance[]>;
  /** Adds tags to an instance or an image. */
  tag(id: string, tags: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void>;
  limits(signal?: AbortSignal): Promise<JsonObject>;
  zones(signal?: AbortSignal): Promise<readonly string[]>;
  flavor(order: Pick<InstanceOrder, 'flavor' | 'minRam'>, signal?: AbortSignal): Promise<Flavor | undefined>;
  hasImage(image: string, signal?: AbortSignal): Promise<boolean>;
  listImages(signal?: AbortSignal): Promise<readonly UploadedImage[]>;
  /** Makes an image, still without data. */
  uploadImage(image: Pick<UploadedImage, 'name' | 'metadata'>, signal?: AbortSignal): Promise<string>;
  /** Tells of data that were sent: a share of the whole, in [0, 1]. After the last of them the image can be used. */
  sendImage(id: string, share: number, isLast: boolean, signal?: AbortSignal): Promise<void>;
  removeImage(id: string, signal?: AbortSignal): Promise<void>;
  /** Reports every change of a shown instance. Returns how to end it. */
  onChange(listener: (event: InstanceEvent) => void): () => void;
}

/** A client that keeps all instances at hand, so that a list is one short question: "is there anything new?" */
export function createCloudClient(transport: CloudTransport): CloudClient {
  return new MirroringClient(transport);
}

class MirroringClient implements CloudClient {
  readonly #transport: CloudTransport;
  readonly #instances = new Map<string, CloudInstance>();
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  /** Not reported again since a new connection began. */
  #unconfirmed: Set<string> | undefined;

  constructor(transport: CloudTransport) {
    this.#transport = transport;
    transport.subscribe({
      event: (event) => this.#apply(event),
      reset: () => (this.#unconfirmed = new Set(this.#instances.keys())),
      complete: () => this.#confirmAll(),
    });
  }

  start(signal: AbortSignal): Promise<void> {
    return translate('connect', this.#transport.ready(signal));
  }

  close(): void | Promise<void> {
    this.#listeners.clear();
    return this.#transport.close();
  }

  async configure(owner: string, settings: JsonObject, signal?: AbortSignal): Promise<void> {
    await this.#call('configure', { owner, settings }, signal);
  }

  create(order: InstanceOrder, signal?: AbortSignal): Promise<CloudInstance> {
    return this.#call('create', order, signal);
  }

  remove(id: string, signal?: AbortSignal): Promise<boolean> {
    return this.#call('remove', id, signal);
  }

  async get(id: string, signal?: AbortSignal): Promise<CloudInstance | undefined> {
    return (await this.#call('get', id, signal)) ?? undefined;
  }

  async list(signal?: AbortSignal): Promise<Iterable<CloudInstance>> {
    await this.#transport.ready(signal);
    await this.#call('sync', null, signal);
    return this.#instances.values();
  }

  find(name: string, value: string, signal?: AbortSignal): Promise<readonly CloudInstance[]> {
    return this.#call('find', { name, value }, signal);
  }

  async tag(id: string, tags: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void> {
    await this.#call('tag', { id, tags }, signal);
  }

  limits(signal?: AbortSignal): Promise<JsonObject> {
    return this.#call('limits', null, signal);
  }

  zones(signal?: AbortSignal): Promise<readonly string[]> {
    return this.#call('zones', null, signal);
  }

  async flavor(order: Pick<InstanceOrder, 'flavor' | 'minRam'>, signal?: AbortSignal): Promise<Flavor | undefined> {
    return (await this.#call('flavor', order, signal)) ?? undefined;
  }

  hasImage(image: string, signal?: AbortSignal): Promise<boolean> {
    return this.#call('hasImage', image, signal);
  }

  listImages(signal?: AbortSignal): Promise<readonly UploadedImage[]> {
    return this.#call('listImages', null, signal);
  }

  uploadImage(image: Pick<UploadedImage, 'name' | 'metadata'>, signal?: AbortSignal): Promise<string> {
    return this.#call('uploadImage', image, signal);
  }

  async sendImage(id: string, share: number, isLast: boolean, signal?: AbortSignal): Promise<void> {
    await this.#call('sendImage', { id, share, isLast }, signal);
  }

  async removeImage(id: string, signal?: AbortSignal): Promise<void> {
    await this.#call('removeImage', id, signal);
  }

  onChange(listener: (event: InstanceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal: AbortSignal | undefined,
  ): Promise<CloudCalls[Name][1]> {
    return translate(name, this.#transport.call(name, args, signal));
  }

  #apply(event: InstanceEvent): void {
    this.#unconfirmed?.delete(event.id);
    if (event.instance) this.#instances.set(event.id, event.instance);
    else this.#instances.delete(event.id);
    for (const listener of this.#listeners) listener(event);
  }

  #confirmAll(): void {
    const lost = this.#unconfirmed ?? [];
    this.#unconfirmed = undefined;
    for (const id of lost) this.#apply({ id, instance: null });
  }
}

async function translate<T>(call: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof CloudFailure ? translateFailure(call, error) : error;
  }
}

/** The error of core that tells a caller what to do next. */
function translateFailure(call: string, failure: CloudFailure): Error {
  const message = `fake cloud, call "${call}": ${failure.message}`;
  const options = { cause: failure };
  switch (failure.kind) {
    case 'quota':
      return new QuotaError(message, options);
    case 'capacity':
      return new CapacityError(message, options);
    case 'not-found':
      return new NotFoundError(message, options);
    case 'rate-limited':
      return new RateLimitedError(message, options);
    case 'unavailable':
    case 'reset':
      return new ProviderUnavailableError(message, options);
    case 'invalid':
      return new ConfigError(message, [], options);
    case 'failed':
      return new LaunchError('status', message, options);
  }
}
