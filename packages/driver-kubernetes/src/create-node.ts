import {
  ConfigError,
  createStateMachine,
  done,
  failed,
  goto,
  LaunchError,
  wait,
  type Handlers,
  type Instance,
  type JsonObject,
  type MachineRun,
  type CreateOrder,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { AccessBodies } from './access.js';
import type { ApiNamespace, ApiPod } from './api.js';
import type { KubernetesClient } from './client.js';
import { AlreadyExistsError, NotYetError } from './errors.js';
import { toInstance, type Grant, type KubernetesInstance } from './instance.js';
import { isRunning, problemOf, type PodProblem } from './pod-state.js';
import { ATTEMPT_ANNOTATION } from './ownership.js';
import { isForbidden } from './spaces.js';

/** State of a creation. The external id is a name, so it is stored before anything exists. */
export type CreateState =
  | { readonly name: 'start' }
  | { readonly name: 'creating-namespace'; readonly externalId: string; readonly attempt: string }
  /** The name exists. */
  | { readonly name: 'identifying'; readonly externalId: string; readonly grant?: Grant | undefined }
  /** Without an external id: the object of this name belongs to another node. */
  | { readonly name: 'name-taken'; readonly isByOwn: boolean }
  | { readonly name: 'creating-objects'; readonly externalId: string; readonly created: ApiNamespace }
  | {
      readonly name: 'creating-pod';
      readonly externalId: string;
      /** That of the plan, for a launcher that continues. */
      readonly attempt?: string | undefined;
      readonly grant: Grant | undefined;
    }
  | { readonly name: 'waiting-for-pod'; readonly externalId: string; readonly grant: Grant };

/** Names and bodies of what is created. */
export interface Plan {
  readonly externalId: string;
  readonly namespace: string;
  /** Random id that all objects carry. */
  readonly attempt: string;
  /** `undefined`: the namespace exists, and belongs to others. */
  readonly namespaceBody: JsonObject | undefined;
  /** The namespace is made as a project of OpenShift. */
  readonly isProject: boolean;
  readonly access: AccessBodies | undefined;
  /** `undefined`: the namespace is the node. */
  readonly pod: { readonly name: string; readonly body: JsonObject } | undefined;
}

/** Context of a creation. */
export interface CreateContext {
  readonly client: KubernetesClient;
  readonly plan: Plan;
  readonly scheduleTimeoutMs: number;
  /**
   * The token that the job gets in a namespace of its own.
   * @param mayLack - rights in a new project may arrive later
   */
  grant(signal: AbortSignal, mayLack?: boolean): Promise<Grant>;
  /** That of a job in a namespace of others; `undefined`: the pod comes first. @param pod - that of the job */
  grantShared(pod: ApiPod | undefined, signal: AbortSignal): Promise<Grant | undefined>;
  /** Creates the role of the job, or as much of it as the launcher may give. */
  createRole(role: JsonObject, signal: AbortSignal): Promise<void>;
  /** The object of this name, of any owner. */
  look(signal: AbortSignal): Promise<KubernetesInstance | undefined>;
  /** Whether an instance was provably created for this node. */
  isOfNode(instance: KubernetesInstance): boolean;
  /** Whether an instance was provably created for a node of this provider and database. */
  isOwn(instance: KubernetesInstance): boolean;
  /** Whether changes arrive at present. Otherwise what was seen may be old. */
  isWatching(): boolean;
  /** Whether the account may not watch. */
  isPolling(): boolean;
  /** The present moment, for `changed`. */
  mark(): number;
  /** Resolves when the instance has changed since the mark, or since it was read. */
  changed(since: number, instance: KubernetesInstance, signal: AbortSignal): Promise<void>;
  /** Notes why pods of the label do not start; `undefined`: one runs. */
  note(problem: PodProblem | undefined): void;
  /** Completes the instance for the node record. */
  finish(instance: KubernetesInstance, grant: Grant): Promise<KubernetesInstance>;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<KubernetesInstance>;

const NOT_YET_PAUSE_MS = 200;
/** The servers of OpenShift learn one after the other that a new project belongs to its requester. */
const RIGHTS_MS = 10_000;
/** A change that a broken watch hides is seen after this time; without a watch, changes are seen so often. */
const LOOK_AGAIN_MS = { watching: 5_000, polling: 1_000 };

/** Creates a namespace, a namespace with a pod, or a pod; done when it can be used. */
export function createMachine(context: CreateContext): StateMachine<Instance, KubernetesInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, KubernetesInstance>({
    name: 'create',
    initial: { name: 'start' },
    handlers: createHandlers,
    context,
  });
}

/** Handler of each state. */
export const createHandlers = {
  start: (_state, { plan }) => goto<CreateState>(firstState(plan)),
  'creating-namespace': async ({ externalId }, { client, plan }, run) => {
    try {
      const created = await client.createNamespace(plan.namespaceBody ?? {}, run.signal);
      return goto<CreateState>({ name: 'creating-objects', externalId, created });
    } catch (error) {
      if (error instanceof AlreadyExistsError) return goto<CreateState>({ name: 'identifying', externalId });
      throw error;
    }
  },
  identifying: identify,
  'name-taken': ({ isByOwn }, { plan }) => {
    const what = plan.namespaceBody
      ? `namespace "${plan.namespace}"`
      : `pod "${plan.namespace}/${plan.pod?.name ?? ''}"`;
    if (isByOwn) return failed(LaunchError.takenByFormer(what));
    const message = `${what} exists and is not this provider's, so it is not changed`;
    return failed(new ConfigError(`${message}: two installations must not share a cluster, pool names and node ids`));
  },
  'creating-objects': createObjects,
  'creating-pod': createPod,
  'waiting-for-pod': waitForPod,
} satisfies Handlers<CreateState, Instance, CreateContext, KubernetesInstance>;

function firstState({ externalId, attempt, namespaceBody }: Plan): CreateState {
  return namespaceBody
    ? { name: 'creating-namespace', externalId, attempt }
    : { name: 'creating-pod', externalId, attempt, grant: undefined };
}

/** The attempt of a creation that a launcher began which is gone: what it made carries the same. */
export function attemptOf(resumed: CreateOrder['resumed']): string | undefined {
  const { attempt } = (resumed?.state ?? {}) as { readonly attempt?: unknown };
  return typeof attempt === 'string' ? attempt : undefined;
}

/** The name exists: continues only with the object of this creation, and deletes only one of this node. */
async function identify(
  { externalId, grant }: Extract<CreateState, { name: 'identifying' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { plan } = context;
  const found = await context.look(run.signal);
  // OpenShift shows no projects of others.
  if (!found && plan.isProject) {
    return run.nowMs - run.enteredMs < RIGHTS_MS
      ? wait(NOT_YET_PAUSE_MS)
      : goto<CreateState>({ name: 'name-taken', isByOwn: false });
  }
  if (!found) return goto<CreateState>(firstState(plan));
  if (found.attempt === plan.attempt) {
    if (found.namespace) return goto<CreateState>({ name: 'creating-objects', externalId, created: found.namespace });
    const granted = grant ?? (await context.grantShared(found.pod, run.signal));
    return granted
      ? goto<CreateState>({ name: 'waiting-for-pod', externalId, grant: granted })
      : failed(vanished(externalId));
  }
  if (!context.isOfNode(found)) {
    return goto<CreateState>({ name: 'name-taken', isByOwn: context.isOwn(found) });
  }
  return failed(new LaunchError('status', `"${externalId}" is of an earlier attempt; it is deleted`));
}

/** Creates everything in the new namespace at once. Repeated calls find what they created. */
async function createObjects(
  { externalId, created }: Extract<CreateState, { name: 'creating-objects' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { client, plan } = context;
  const { namespace, access, pod } = plan;
  const { signal } = run;
  const mayWait = plan.isProject && run.nowMs - run.enteredMs < RIGHTS_MS;
  const [granted, podCreated] = await Promise.allSettled([
    createAccess(context, access, mayWait, signal),
    pod && unlessExists(client.createPod(namespace, pod.body, signal)),
  ]);
  if (mayWait && [granted, podCreated].some((one) => one.status === 'rejected' && isForbidden(one.reason))) {
    return wait(NOT_YET_PAUSE_MS);
  }
  if (granted.status === 'rejected') {
    if (granted.reason instanceof NotYetError) return wait(NOT_YET_PAUSE_MS);
    throw granted.reason;
  }
  const grant = granted.value;
  if (!pod) {
    const instance = toInstance(externalId, created, undefined);
    if (!instance) return failed(vanished(externalId));
    return done(await context.finish(instance, grant));
  }
  if (podCreated.status === 'fulfilled') return goto<CreateState>({ name: 'waiting-for-pod', externalId, grant });
  if (podCreated.reason instanceof NotYetError) return goto<CreateState>({ name: 'creating-pod', externalId, grant });
  throw podCreated.reason;
}

async function createAccess(
  context: CreateContext,
  access: AccessBodies | undefined,
  mayLack: boolean,
  signal: AbortSignal,
): Promise<Grant> {
  const { client, plan } = context;
  const { namespace } = plan;
  if (!access) return context.grant(signal);
  const account = unlessExists(client.createServiceAccount(namespace, access.account, signal));
  const [granted] = await Promise.all([
    account.then(() => context.grant(signal, mayLack)),
    createRoleAndBinding(context, access, signal),
  ]);
  return granted;
}

/** In this order: who may not bind any role must hold what is in the one that is bound. */
async function createRoleAndBinding(
  context: CreateContext,
  { role, binding }: AccessBodies,
  signal: AbortSignal,
): Promise<void> {
  const { client, plan } = context;
  if (role) await unlessExists(context.createRole(role, signal));
  await unlessExists(client.createRoleBinding(plan.namespace, binding, signal));
}

async function createPod(
  { externalId, grant: known }: Extract<CreateState, { name: 'creating-pod' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { client, plan } = context;
  const grant = known ?? (await context.grantShared(undefined, run.signal));
  try {
    await client.createPod(plan.namespace, plan.pod?.body ?? {}, run.signal);
  } catch (error) {
    if (error instanceof NotYetError) return wait(NOT_YET_PAUSE_MS);
    if (!(error instanceof AlreadyExistsError)) throw error;
    if (!plan.namespaceBody) return goto<CreateState>({ name: 'identifying', externalId, grant });
  }
  return goto<CreateState>(
    grant ? { name: 'waiting-for-pod', externalId, grant } : { name: 'identifying', externalId },
  );
}

async function waitForPod(
  { externalId, grant }: Extract<CreateState, { name: 'waiting-for-pod' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { plan } = context;
  const mark = context.mark();
  const seen = await run.instances.find(externalId);
  // What was seen last may be older than the creation.
  const isCurrent = context.isWatching() && isOfAttempt(seen?.pod, plan.attempt);
  const instance = isCurrent ? seen : await context.look(run.signal);
  const pod = instance?.pod;
  if (!instance || !isOfAttempt(pod, plan.attempt)) return failed(vanished(externalId));
  if (isRunning(pod)) {
    context.note(undefined);
    return done(await context.finish(instance, grant));
  }
  const problem = problemOf(pod);
  if (problem) context.note(problem);
  const leftMs = run.enteredMs + context.scheduleTimeoutMs - run.nowMs;
  if (problem && (problem.fails === 'now' || leftMs <= 0)) return failed(problem.error);
  const againMs = LOOK_AGAIN_MS[context.isPolling() ? 'polling' : 'watching'];
  const ms = problem ? Math.min(leftMs, againMs) : againMs;
  return wait({ ms, until: (signal) => context.changed(mark, instance, signal) });
}

function isOfAttempt(pod: ApiPod | undefined, attempt: string): pod is ApiPod {
  return pod?.metadata.annotations?.[ATTEMPT_ANNOTATION] === attempt;
}

async function unlessExists(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error;
  }
}

function vanished(externalId: string): LaunchError {
  return new LaunchError('status', `"${externalId}" vanished during its creation: another program deleted it`);
}
