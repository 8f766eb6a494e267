import {
  CapacityError,
  createStateMachine,
  DATABASE_ID_TAG,
  done,
  failed,
  goto,
  isOurs,
  LaunchError,
  ProviderUnavailableError,
  QuotaError,
  wait,
  type CreateOrder,
  type Handlers,
  type Instance,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { CapacityMemory, ServerPlace } from './capacity-memory.js';
import type { OpenStackClient } from './client/client.js';
import type { Server, ServerOrder } from './client/compute.js';
import { isOpenStackError } from './client/errors.js';
import { kindOfText } from './client/fault-texts.js';
import type { CloudFacts } from './cloud-facts.js';
import type { OpenStackLabel, OpenStackPool } from './config.js';
import { hostKeysIn } from './console-keys.js';
import { misnamed } from './misnamed.js';
import type { FloatingIps } from './floating-ips.js';
import { isGoing, type OpenStackInstance } from './instance.js';

/** State of a creation. */
export type CreateState =
  | { readonly name: 'start' }
  | { readonly name: 'looking-for-earlier-attempt' }
  | { readonly name: 'preparing'; readonly isSecondTry: boolean }
  | { readonly name: 'submitting'; readonly order: ServerOrder; readonly isSecondTry: boolean }
  | { readonly name: 'looking-for-lost-answer'; readonly order: ServerOrder; readonly error?: string }
  /** The server was stopped: see `stop-node.ts`. */
  | { readonly name: 'starting'; readonly externalId: string }
  | {
      readonly name: 'waiting-for-server';
      readonly externalId: string;
      /** Where it was ordered; `undefined`: it was found. */
      readonly place: ServerPlace | undefined;
      /** It was started, not made: its host keys are known, and its console does not show them again. */
      readonly isStarted?: boolean;
    }
  | { readonly name: 'attaching-floating-ip'; readonly externalId: string; readonly server: Server }
  | FloatingIpState
  | { readonly name: 'reading-host-keys'; readonly externalId: string; readonly server: Server };

interface FloatingIpState {
  readonly name: 'waiting-for-floating-ip';
  readonly externalId: string;
  readonly server: Server;
  readonly floatingIpId: string;
}

/** Context of a creation. */
export interface CreateContext {
  readonly client: OpenStackClient;
  readonly facts: CloudFacts;
  readonly floatingIps: FloatingIps;
  readonly capacity: CapacityMemory;
  readonly order: CreateOrder<OpenStackLabel, OpenStackPool>;
  /** Name of the provider. */
  readonly provider: string;
  readonly bootTimeoutMs: number;
  /** The order for the server, from cached facts. @throws {ConfigError} something does not exist */
  makeOrder(): Promise<ServerOrder>;
  toInstance(server: Server): Promise<OpenStackInstance>;
  /** Whether the server needs a floating IP. */
  needsFloatingIp(server: Server): Promise<boolean>;
  /** Tags the volumes of a server. Never rejects. */
  markVolumes(server: Server, signal: AbortSignal): Promise<void>;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<OpenStackInstance>;

/** How long a server of an unanswered order may take to appear. */
const LOST_ANSWER_MS = 30_000;
/** The same from the order on, of a launcher that died with it: less is known about the moment. */
const DEAD_ORDER_MS = 60_000;
/** How long a new server may be missing in all answers of the cloud. */
const APPEARS_WITHIN_MS = 30_000;
const FLOATING_IP_TIMEOUT_MS = 60_000;
const FLOATING_IP_LOOK_MS = 1_000;
const CONSOLE_LOOK_MS = 3_000;

/** Creates one server; done when it has a reachable address. */
export function createMachine(context: CreateContext): StateMachine<Instance, OpenStackInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, OpenStackInstance>({
    name: 'create',
    initial: { name: 'start' },
    resumed: context.order.resumed?.state,
    handlers: createHandlers,
    context,
  });
}

/** Handler of each state. */
export const createHandlers = {
  start: (_state, { order }) =>
    goto(
      order.attempt > 1 || order.resumed
        ? { name: 'looking-for-earlier-attempt' }
        : { name: 'preparing', isSecondTry: false },
    ),
  'looking-for-earlier-attempt': async (_state, context, run) => {
    const found = await adopt(context, run);
    if (found) return found;
    // Nova may still be processing the order of a launcher that is gone: a second order would create a second server.
    const orderedMs = context.order.resumed?.orderedMs;
    const mayAppear = orderedMs !== undefined && run.nowMs < orderedMs + DEAD_ORDER_MS;
    return mayAppear ? wait(1_000 * (run.visits + 1)) : goto({ name: 'preparing', isSecondTry: false });
  },
  preparing: async ({ isSecondTry }, context) =>
    goto({ name: 'submitting', order: await context.makeOrder(), isSecondTry }),
  submitting: submitOrder,
  'looking-for-lost-answer': async ({ order, error }, context, run) => {
    const found = await adopt(context, run, order);
    if (found) return found;
    // Nova may still be processing it: a second order would create a second server.
    if (run.nowMs - run.enteredMs < LOST_ANSWER_MS) return wait(1_000 * (run.visits + 1));
    const why = error ?? 'its order was not answered';
    return failed(new ProviderUnavailableError(`server "${order.name}": ${why}, and no server appeared`));
  },
  starting: startServer,
  'waiting-for-server': waitForServer,
  'attaching-floating-ip': async ({ externalId, server }, { floatingIps, order, provider }, run) => {
    const tags = { ...order.metadata };
    const attached = await floatingIps.attach(
      server,
      { provider, node: order.node, tags, pool: order.pool.floatingIpPool },
      run.signal,
    );
    return goto({ name: 'waiting-for-floating-ip', externalId, server, floatingIpId: attached.id });
  },
  'waiting-for-floating-ip': waitForFloatingIp,
  'reading-host-keys': readHostKeys,
} satisfies Handlers<CreateState, Instance, CreateContext, OpenStackInstance>;

async function submitOrder(
  { order, isSecondTry }: Extract<CreateState, { name: 'submitting' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { capacity, client, facts } = context;
  const place = placeOf(order);
  // A retry means that no other provider can serve the request, so ask the cloud in any case.
  const whyFull = context.order.attempt === 1 ? capacity.whyFull(place) : undefined;
  if (whyFull !== undefined) {
    const what = `flavor ${order.flavorId} in zone "${place.zone ?? 'any'}" with these networks`;
    return failed(new CapacityError(`the cloud recently had no capacity for ${what}: ${whyFull}`));
  }
  try {
    const externalId = await client.compute.createServer(order, run.signal);
    if (externalId === undefined) return goto({ name: 'looking-for-lost-answer', order });
    return goto({ name: 'waiting-for-server', externalId, place });
  } catch (error) {
    if (!isOpenStackError(error) || error.kind === 'rate') throw error;
    if (error.kind === 'unavailable') {
      await run.note(
        `looking for the server for ${LOST_ANSWER_MS / 1_000} s, as its order may have taken effect: ${error.message}`,
      );
      return goto({ name: 'looking-for-lost-answer', order, error: error.message });
    }
    if (error.kind === 'capacity') capacity.noteFull(place, error.message);
    if (isOutdated(error) && !isSecondTry) {
      run.logger.warn('The cloud does not know a flavor, image, network, zone, key pair or group; reading them again', {
        error,
      });
      facts.flush();
      return goto({ name: 'preparing', isSecondTry: true });
    }
    throw misnamed(error) ?? error;
  }
}

function placeOf({ zone, flavorId, networks }: ServerOrder): ServerPlace {
  return { zone: zone ?? null, flavorId, networks };
}

/** Whether a cached zone, flavor, image or network may no longer exist, or no longer be the only one of its name. */
function isOutdated(error: unknown): boolean {
  return (['bad-request', 'not-found', 'conflict'] as const).some((kind) => isOpenStackError(error, kind));
}

/**
 * Adopts a server with the tags of the node, from an unanswered order or an earlier attempt. One in `ERROR` too: it shows why the
 * attempt fails, and is deleted as any other.
 */
async function adopt(
  { client, order, provider }: CreateContext,
  run: Run,
  lost?: ServerOrder,
): Promise<CreateStep | undefined> {
  const servers = await client.compute.servers(run.signal, { name: `^${order.hostname}$` });
  const ours = servers.filter(({ metadata }) =>
    isOurs(metadata, provider, order.metadata[DATABASE_ID_TAG], order.node),
  );
  const present = ours.filter((server) => !isGoing(server));
  const found = present.find(({ status }) => status !== 'ERROR') ?? present[0];
  return found && goto({ name: 'waiting-for-server', externalId: found.id, place: lost && placeOf(lost) });
}

/** The start may have been made by a launcher that is gone. */
async function startServer(
  { externalId }: Extract<CreateState, { name: 'starting' }>,
  { client, order }: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const instance = await run.instances.find(externalId);
  const isStopped = instance?.server.status === 'SHUTOFF' && instance.server.taskState === undefined;
  try {
    if (isStopped) await client.compute.startServer(externalId, run.signal);
  } catch (error) {
    if (isOpenStackError(error, 'conflict')) return wait(1_000);
    if (!isOpenStackError(error, 'not-found')) throw error;
    return failed(
      new LaunchError('status', `server "${order.hostname}" (${externalId}) vanished while it was stopped`),
    );
  }
  return goto({ name: 'waiting-for-server', externalId, place: undefined, isStarted: true });
}

async function waitForServer(
  { externalId, place, isStarted }: Extract<CreateState, { name: 'waiting-for-server' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { client, capacity } = context;
  const name = context.order.hostname;
  const instance = await run.instances.find(externalId);
  if (!instance || instance.deleted) {
    if (!instance && run.nowMs - run.enteredMs < APPEARS_WITHIN_MS) return wait();
    return failed(new LaunchError('status', `server "${name}" (${externalId}) vanished during its creation`));
  }
  const { server } = instance;
  if (server.status === 'ERROR') {
    // Lists of some clouds omit the fault.
    const fault = server.fault ?? (await client.compute.server(externalId, run.signal))?.fault;
    const kind = kindOfText(fault ?? '');
    if (place && kind === 'capacity') capacity.noteFull(place, fault ?? '');
    if (kind === 'not-found') context.facts.flush();
    return failed(errorOfFault(name, externalId, fault));
  }
  if (server.status !== 'ACTIVE') return wait();
  if (place) capacity.noteRoom(place);
  if (await context.needsFloatingIp(server)) return goto({ name: 'attaching-floating-ip', externalId, server });
  if (isStarted === true) return started(server, context);
  return reachable(server, context, run);
}

async function started(server: Server, context: CreateContext): Promise<CreateStep> {
  const { label, node } = context.order;
  const { hostKeys } = node;
  const instance = await context.toInstance(server);
  return done(label.hostKeysFromConsole ? { ...instance, hostKeys, onlyTheseHostKeys: true } : instance);
}

/** The error for a server in status `ERROR`. @param fault - the reason of the cloud */
function errorOfFault(name: string, externalId: string, fault: string | undefined): Error {
  const message = `server "${name}" (${externalId}) is in status ERROR: ${fault ?? 'the cloud gives no reason'}`;
  const kind = kindOfText(fault ?? '');
  if (kind === 'quota') return new QuotaError(message);
  return kind === 'capacity' ? new CapacityError(message) : new LaunchError('status', message);
}

async function waitForFloatingIp(state: FloatingIpState, context: CreateContext, run: Run): Promise<CreateStep> {
  const { floatingIps } = context;
  const found = await floatingIps.find(state.floatingIpId, run.signal);
  if (found?.status === 'ACTIVE' && found.portId !== undefined) {
    return reachable(floatingIps.shownOn(state.server, found), context, run);
  }
  const isLate = run.nowMs - run.enteredMs >= FLOATING_IP_TIMEOUT_MS;
  if (found && found.status !== 'ERROR' && !isLate) return wait(FLOATING_IP_LOOK_MS);
  if (found) await floatingIps.remove(found, run.signal);
  const what = found ? `is ${found.status}${isLate ? ` after ${FLOATING_IP_TIMEOUT_MS / 1_000} s` : ''}` : 'is gone';
  return failed(new LaunchError('network', `server "${state.server.name}": its floating IP ${what}`));
}

async function reachable(server: Server, context: CreateContext, run: Run): Promise<CreateStep> {
  if (context.order.label.bootFromVolume) await context.markVolumes(server, run.signal);
  if (context.order.label.hostKeysFromConsole) {
    return goto({ name: 'reading-host-keys', externalId: server.id, server });
  }
  return done(await context.toInstance(server));
}

async function readHostKeys(
  { server }: Extract<CreateState, { name: 'reading-host-keys' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const text = await context.client.compute.consoleOutput(server.id, run.signal);
  const hostKeys = hostKeysIn(text ?? '');
  if (hostKeys) return done({ ...(await context.toInstance(server)), hostKeys, onlyTheseHostKeys: true });
  if (run.nowMs - run.enteredMs < context.bootTimeoutMs) return wait(CONSOLE_LOOK_MS);
  const message =
    `server "${server.name}" did not print its host keys on the console within ${context.bootTimeoutMs / 1_000} s: ` +
    'does its image have cloud-init, or should host-keys-from-console be off?';
  return failed(new LaunchError('keyscan', message));
}
