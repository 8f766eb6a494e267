import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
  type TaskManager,
} from '@nodepool/core';
import { CloudFailure, type CallName, type CloudCalls, type CloudClient } from '../cloud/index.js';

/** Calls the cloud. Rejects with errors of core; `ConfigError` for an order that can never succeed. */
export type CloudCall = <Name extends CallName>(
  name: Name,
  args: CloudCalls[Name][0],
  signal: AbortSignal,
) => Promise<CloudCalls[Name][1]>;

/** A rate-limited call to the cloud. @param metric - name of the call, in the form of the openstack driver */
export type PacedCall = <Name extends CallName>(
  metric: string,
  name: Name,
  args: CloudCalls[Name][0],
  signal: AbortSignal,
) => Promise<CloudCalls[Name][1]>;

/** Calls of a cloud that reject with errors of core. */
export function callsOf(cloud: CloudClient): CloudCall {
  return async (name, args, signal) => {
    try {
      return await cloud.call(name, args, signal);
    } catch (error) {
      throw error instanceof CloudFailure ? translate(name, error) : error;
    }
  };
}

/** Calls that the task manager limits and counts. */
export function pacedCallsOf(call: CloudCall, tasks: TaskManager): PacedCall {
  return (metric, name, args, signal) => tasks.call(metric, (own) => call(name, args, own), { signal });
}

/** The matching error of core. */
function translate(call: string, failure: CloudFailure): Error {
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
