import { ProviderUnavailableError } from '@nodepool/core';
import type { ApiLimitRange, ApiNamespace, ApiObject, ApiPod, ApiResourceQuota } from './api.js';
import { toInstance } from './instance.js';
import { isRunning } from './pod-state.js';
import { defaultsOf, limitsFor, usageOf } from './usage.js';

/** A namespace, as `readEach` takes it. @throws it cannot be read */
export function readNamespace(entry: unknown): ApiNamespace {
  const namespace = readObject(entry) as ApiNamespace;
  toInstance(namespace.metadata.name, namespace, undefined);
  return namespace;
}

/** A pod, of which everything that is looked at can be read. @throws it cannot be read */
export function readPod(entry: unknown): ApiPod {
  const pod = readObject(entry) as ApiPod;
  toInstance(pod.metadata.name, undefined, pod);
  isRunning(pod);
  usageOf(pod);
  return pod;
}

/** A resource quota. @throws it cannot be read */
export function readQuota(entry: unknown): ApiResourceQuota {
  const quota = readObject(entry) as ApiResourceQuota;
  limitsFor([quota], {});
  return quota;
}

/** A limit range. @throws it cannot be read */
export function readRange(entry: unknown): ApiLimitRange {
  const range = readObject(entry) as ApiLimitRange;
  defaultsOf([range]);
  return range;
}

/** The answer about one object. @throws {ProviderUnavailableError} it cannot be read, which does not say that there is none */
export function readOne<T>(what: string, answer: unknown, read: (entry: unknown) => T): T {
  try {
    return read(answer);
  } catch (cause) {
    throw new ProviderUnavailableError(`${what} was answered with what cannot be read`, { cause });
  }
}

function readObject(entry: unknown): ApiObject {
  const { metadata } = entry as ApiObject;
  const { name, namespace = '' } = metadata as { readonly name: unknown; readonly namespace?: unknown };
  if (typeof name !== 'string' || name === '' || typeof namespace !== 'string') throw new Error('it has no name');
  return entry as ApiObject;
}
