import { delay, type Clock, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { FakeCloud } from '../model/fake-cloud.js';
import type { CloudUsage } from '../model/ledger.js';
import { CloudFailure } from '../model/types.js';
import type { CloudInstance, Flavor, InstanceOrder, UploadedImage } from '../model/types.js';

/** Every call of the cloud's API: arguments and result. */
export interface CloudCalls {
  create: [order: InstanceOrder, instance: CloudInstance];
  /** Result: whether the instance is gone already. */
  remove: [id: string, isGone: boolean];
  powerOff: [id: string, nothing: null];
  powerOn: [id: string, nothing: null];
  get: [id: string, instance: CloudInstance | null];
  /** Instances with a tag; without one, all. */
  find: [tag: { readonly name: string; readonly value: string } | null, instances: readonly CloudInstance[]];
  limits: [nothing: null, limits: JsonObject];
  zones: [nothing: null, zones: readonly string[]];
  flavor: [order: Pick<InstanceOrder, 'flavor' | 'minRam'>, flavor: Flavor | null];
  hasImage: [image: string, exists: boolean];
  listImages: [nothing: null, images: readonly UploadedImage[]];
  /** Creates an image without data. */
  uploadImage: [image: Pick<UploadedImage, 'name' | 'metadata'>, id: string];
  /** Sends a part of the data; `share` is its fraction of the image, `isLast` completes the image. */
  sendImage: [of: { readonly id: string; readonly share: number; readonly isLast: boolean }, nothing: null];
  removeImage: [id: string, nothing: null];
  /** Adds tags to an instance or an image. */
  tag: [of: { readonly id: string; readonly tags: Readonly<Record<string, string>> }, nothing: null];
  configure: [of: { readonly owner: string; readonly settings: JsonObject }, changed: boolean];
  /** The calls below are for operators: no injected failures, no delays. */
  show: [nothing: null, status: CloudStatus];
  list: [nothing: null, instances: readonly CloudInstance[]];
  set: [knob: { readonly path: string; readonly value: Json }, nothing: null];
  kill: [id: string, done: boolean];
  breakDown: [id: string, done: boolean];
  hide: [of: { readonly id: string; readonly forMs?: number | undefined }, done: boolean];
  leak: [order: Partial<InstanceOrder>, instance: CloudInstance];
}

/** Name of a call. */
export type CallName = keyof CloudCalls;

/** Summary of a cloud for operators. */
export interface CloudStatus {
  readonly settings: JsonObject;
  readonly usage: CloudUsage;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly images: number;
}

type CallTable = {
  readonly [Name in CallName]: (cloud: FakeCloud, args: CloudCalls[Name][0]) => CloudCalls[Name][1];
};

const CALLS: CallTable = {
  create: (cloud, order) => cloud.create(order),
  remove: (cloud, id) => cloud.remove(id),
  powerOff(cloud, id) {
    cloud.power.stop(id);
    return null;
  },
  powerOn(cloud, id) {
    cloud.power.start(id);
    return null;
  },
  get: (cloud, id) => cloud.get(id) ?? null,
  find: (cloud, tag) => [...cloud.list()].filter(({ metadata }) => !tag || metadata[tag.name] === tag.value),
  limits: ({ settings: { quota } }) =>
    Object.fromEntries(Object.entries(quota).filter(([, limit]) => Number.isFinite(limit))),
  zones: (cloud) => cloud.settings.zones,
  flavor: (cloud, order) => cloud.flavorFor(order) ?? null,
  hasImage: (cloud, image) => cloud.hasImage(image),
  listImages: (cloud) => cloud.images(),
  uploadImage: (cloud, { name, metadata }) => cloud.upload(name, metadata).id,
  sendImage(cloud, { id, share, isLast }) {
    cloud.receiveImage(id, share, isLast);
    return null;
  },
  removeImage(cloud, id) {
    cloud.removeImage(id);
    return null;
  },
  tag(cloud, { id, tags }) {
    cloud.tag(id, tags);
    return null;
  },
  configure: (cloud, { owner, settings }) => cloud.configure(owner, settings),
  show: statusOf,
  list: (cloud) => [...cloud.list()],
  set(cloud, { path, value }) {
    cloud.set(path, value);
    return null;
  },
  kill: (cloud, id) => cloud.kill(id),
  breakDown: (cloud, id) => cloud.breakDown(id),
  hide: (cloud, { id, forMs }) => cloud.hide(id, forMs),
  leak: (cloud, order) => cloud.leak(order),
};

/** Calls for operators, which injected failures do not affect. */
const OPERATOR_CALLS: ReadonlySet<CallName> = new Set<CallName>([
  'configure',
  'show',
  'list',
  'set',
  'kill',
  'breakDown',
  'hide',
  'leak',
]);

/** Calls that change something: their answer can be lost after they took effect. */
const WITH_EFFECT: ReadonlySet<CallName> = new Set<CallName>(['create', 'remove', 'powerOff', 'powerOn']);

/** Whether the cloud has such a call. */
export function isCallName(name: string): name is CallName {
  return Object.hasOwn(CALLS, name);
}

/**
 * Makes one call with the configured delays and failures. Answers synchronously if there is no delay.
 * @throws {CloudFailure} or rejects with it; `TypeError` for wrong settings
 */
export function callCloud<Name extends CallName>(
  cloud: FakeCloud,
  clock: Clock,
  name: Name,
  args: CloudCalls[Name][0],
): CloudCalls[Name][1] | Promise<CloudCalls[Name][1]> {
  if (OPERATOR_CALLS.has(name)) return CALLS[name](cloud, args);
  const waitMs = cloud.timeMs('api-time') + sendingMs(cloud, name, args);
  const answerMs = cloud.timeMs('answer-time');
  if (waitMs === 0 && answerMs === 0) return callWithFailures(cloud, name, args);
  return callSlowly(cloud, clock, { name, args, waitMs, answerMs });
}

async function callSlowly<Name extends CallName>(
  cloud: FakeCloud,
  clock: Clock,
  call: { name: Name; args: CloudCalls[Name][0]; waitMs: number; answerMs: number },
): Promise<CloudCalls[Name][1]> {
  if (call.waitMs > 0) await delay(clock, call.waitMs);
  const result = callWithFailures(cloud, call.name, call.args);
  if (call.answerMs > 0) await delay(clock, call.answerMs);
  return result;
}

/** Each part of an image takes its share of the upload time. */
function sendingMs<Name extends CallName>(cloud: FakeCloud, name: Name, args: CloudCalls[Name][0]): number {
  if (name !== 'sendImage') return 0;
  return cloud.timeMs('upload-time') * (args as CloudCalls['sendImage'][0]).share;
}

function callWithFailures<Name extends CallName>(
  cloud: FakeCloud,
  name: Name,
  args: CloudCalls[Name][0],
): CloudCalls[Name][1] {
  if (cloud.happens('api-down')) throw new CloudFailure('unavailable', 'the API is down');
  if (cloud.happens('rate-limited')) throw new CloudFailure('rate-limited', 'too many requests');
  const isLost = WITH_EFFECT.has(name) && cloud.happens('connection-reset');
  const result = CALLS[name](cloud, args);
  if (isLost) throw new CloudFailure('reset', 'the connection was reset before the answer came');
  return result;
}

function statusOf(cloud: FakeCloud): CloudStatus {
  const byStatus: Record<string, number> = {};
  for (const { status } of cloud.list()) byStatus[status] = (byStatus[status] ?? 0) + 1;
  const { settingsJson: settings, usage } = cloud;
  return { settings, usage: { ...usage }, byStatus, images: cloud.images().length };
}
