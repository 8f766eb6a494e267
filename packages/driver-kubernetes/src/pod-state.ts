import { CapacityError, ConfigError, LaunchError } from '@nodepool/core';
import { machineText } from '@nodepool/core/ssh';
import type { ApiContainerStatus, ApiPod } from './api.js';
import { unschedulable } from './errors.js';

/** What a pod waits for or fails from. */
export interface PodProblem {
  /** One CamelCase word of Kubernetes: `Unschedulable`, `ImagePullBackOff`. */
  readonly reason: string;
  readonly message: string;
  /** What a container wrote, for the log only. */
  readonly machineSaid?: string | undefined;
  /**
   * - `now` it will never run
   * - `later` it may run yet, such as after the cluster has grown
   */
  readonly fails: 'now' | 'later';
  readonly error: Error;
}

/** Reasons that an operator has to resolve. https://kubernetes.io/docs/concepts/containers/images/#imagepullbackoff */
const CONFIG_REASONS = new Set([
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'ImageInspectError',
]);
const PULL_REASONS = new Set(['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable']);
/** What registries say of images that do not exist or may not be read. */
const NO_IMAGE =
  /not found|manifest unknown|does not exist|unauthorized|denied|authentication required|invalid reference/i;
const BROKEN_REASONS = new Set([
  'CrashLoopBackOff',
  'CreateContainerError',
  'RunContainerError',
  'CreatePodSandboxError',
]);
/** Its message has the output of a command in the container. */
const HOOK_FAILED = 'PostStartHookError';
/** The kubelet had no place for it: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/ */
const NO_PLACE = /^(Evicted|OutOf\w+|NodeAffinity|NodeShutdown|Terminated|UnexpectedAdmissionError|Preempt\w+)$/;

/** Whether the pod can be used. Kubernetes calls a pod running, too, whose only container failed to start and is tried again. */
export function isRunning({ metadata, status }: ApiPod): boolean {
  if (status?.phase !== 'Running' || metadata.deletionTimestamp !== undefined) return false;
  const states = (status.containerStatuses ?? []).map(({ state }) => state);
  const isWaiting = states.some((state) => state?.waiting !== undefined);
  return states.length === 0 || (!isWaiting && states.some((state) => state?.running !== undefined));
}

/** Why a pod does not run; `undefined`: it runs, or nothing is wrong yet. */
export function problemOf(pod: ApiPod): PodProblem | undefined {
  const what = `pod "${pod.metadata.namespace ?? ''}/${pod.metadata.name}"`;
  const { status = {} } = pod;
  const message = status.message ?? '';
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { ...failure('Deleted', 'another program deletes it', what), fails: 'now' };
  }
  if (status.phase === 'Failed' || status.phase === 'Succeeded') return ended(pod, what);
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  for (const container of containers) {
    const problem = problemOfContainer(container, what);
    if (problem) return problem;
  }
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    const text = scheduled.message ?? message;
    return { reason: 'Unschedulable', message: text, fails: 'later', error: unschedulable(what, text) };
  }
  return undefined;
}

function ended({ status = {} }: ApiPod, what: string): PodProblem {
  const exit = status.containerStatuses?.map(({ state }) => state?.terminated).find((one) => one !== undefined);
  const reason = status.reason ?? exit?.reason ?? status.phase ?? 'Failed';
  const code = exit?.exitCode === undefined ? '' : ` (exit status ${exit.exitCode})`;
  // a container writes its own message: a file, or the end of its log
  const message = [status.message ?? 'its container ended', code].join('');
  const isCapacity = NO_PLACE.test(status.reason ?? '');
  const error = isCapacity
    ? new CapacityError(`${what} has no place: ${reason}: ${message}`)
    : new LaunchError('status', `${what} ended: ${reason}: ${message}`);
  return { reason, message, machineSaid: said(exit?.message), fails: 'now', error };
}

function said(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : machineText(text);
}

function problemOfContainer({ name, state }: ApiContainerStatus, what: string): PodProblem | undefined {
  const { reason = '', message = '' } = state?.waiting ?? {};
  const text = `container "${name}": ${message || 'no message'}`;
  if (reason === HOOK_FAILED) {
    const ours = `container "${name}": the command of its hook failed, whose output is in the log`;
    return { ...failure(reason, ours, what), machineSaid: said(message), fails: 'now' };
  }
  if (CONFIG_REASONS.has(reason)) return { ...refused(reason, text, what), fails: 'now' };
  if (PULL_REASONS.has(reason)) {
    // The back-off hides the cause, which the next try shows.
    if (NO_IMAGE.test(message)) return { ...refused(reason, text, what), fails: 'now' };
    return { ...failure(reason, text, what), fails: 'later' };
  }
  return BROKEN_REASONS.has(reason) ? { ...failure(reason, text, what), fails: 'now' } : undefined;
}

function refused(reason: string, message: string, what: string): Omit<PodProblem, 'fails'> {
  const nextStep = /Image|Pull/.test(reason)
    ? 'correct image or image-pull-secrets of the label'
    : 'create what the pod of the label refers to';
  const error = new ConfigError(`${what} cannot start: ${reason}: ${message}`, [], { reason, nextStep });
  return { reason, message, error };
}

function failure(reason: string, message: string, what: string): Omit<PodProblem, 'fails'> {
  return { reason, message, error: new LaunchError('status', `${what} cannot start: ${reason}: ${message}`) };
}
