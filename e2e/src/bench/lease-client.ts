import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Finding } from './finding.js';
import { cpuMs, percentiles, rssMib } from './process-usage.js';

/** Options of the lease client, passed as JSON in its first argument. */
export interface LeaseLoadOptions {
  /** Address and process id of the launcher. */
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  /** Leases to request a second, and for how long. */
  readonly perSecond: number;
  readonly seconds: number;
  /** Leases that wait for a label that is busy, each with an open stream. */
  readonly waiting: number;
  readonly idleSeconds: number;
}

interface Lease {
  readonly id: string;
  readonly state: string;
}

const options = JSON.parse(process.argv[2] ?? '{}') as LeaseLoadOptions;
/** Closes idle connections before the launcher does, after 5 s. */
const agent = new Agent({ keepAlive: true, timeout: 3_000 });
/** Calls at a time where only their number counts. */
const LANES = 32;
/** A token may make 500 calls a second. */
const CALL_PAUSE_MS = 80;
const WARM_UP_SECONDS = 5;

function open(method: string, path: string, body?: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${options.token}`,
      ...(body && { 'content-type': 'application/json' }),
    };
    const call = request(`${options.url}/api/v1${path}`, { method, headers, agent }, resolve).on('error', reject);
    call.end(body && JSON.stringify(body));
  });
}

async function call(method: string, path: string, body?: object): Promise<Lease> {
  const response = await open(method, path, body);
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
  return JSON.parse(text) as Lease;
}

/** Does something with each item, some at a time. */
async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) {
      await Promise.all([work(item), delay(CALL_PAUSE_MS)]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Requests leases at a fixed rate, whether earlier ones were served or not, and returns each at once. */
async function leaseAtRate(seconds: number): Promise<{ activeMs: number[]; returnedMs: number[] }> {
  const [activeMs, returnedMs, leases]: [number[], number[], Promise<void>[]] = [[], [], []];
  const one = async () => {
    const beganMs = performance.now();
    const { id, state } = await call('POST', '/leases', { labels: ['a'], ttl: 60, wait: 30 });
    const servedMs = performance.now();
    if (state !== 'active') throw new Error(`lease ${id} is ${state}`);
    activeMs.push(servedMs - beganMs);
    await call('DELETE', `/leases/${id}`);
    returnedMs.push(performance.now() - servedMs);
  };
  const beganMs = performance.now();
  while (leases.length < seconds * options.perSecond) {
    const due = ((performance.now() - beganMs) / 1000) * options.perSecond;
    while (leases.length < due) leases.push(one());
    await delay(1);
  }
  await Promise.all(leases);
  return { activeMs, returnedMs };
}

async function measureRate(): Promise<Finding[]> {
  await leaseAtRate(WARM_UP_SECONDS);
  const cpuBefore = await cpuMs(options.pid);
  const { activeMs, returnedMs } = await leaseAtRate(options.seconds);
  const cpu = ((await cpuMs(options.pid)) - cpuBefore) / activeMs.length;
  const active = percentiles(activeMs);
  const what = `${options.perSecond} leases a second`;
  return [
    { what: `${what}, POST with wait until active, p50`, value: active.p50, unit: 'ms' },
    { what: `${what}, POST with wait until active, p99`, value: active.p99, unit: 'ms', wanted: 'at most 50' },
    { what: `${what}, DELETE, p99`, value: percentiles(returnedMs).p99, unit: 'ms' },
    { what: `${what}, CPU of the launcher a lease`, value: cpu, unit: 'ms' },
  ];
}

/** Follows a lease. Resolves when it is open, and then when the stream has said that the lease has ended. */
async function follow({ id }: Lease): Promise<{ ended: Promise<void> }> {
  const response = await open('GET', `/leases/${id}/events`);
  if (response.statusCode !== 200) throw new Error(`stream of ${id}: ${response.statusCode}`);
  let text = '';
  const ended = new Promise<void>((resolve, reject) => {
    response.setEncoding('utf8').on('data', (part: string) => (text += part));
    response.on('end', () => (text.includes('"state":"ended"') ? resolve() : reject(new Error(`no end of ${id}`))));
  });
  return { ended };
}

async function measureStreams(): Promise<Finding[]> {
  const { pid, waiting, idleSeconds } = options;
  await call('POST', '/leases', { labels: ['busy'], ttl: 3600, wait: 30 });
  await delay(2_000);
  const before = await rssMib(pid);
  const leases: Lease[] = [];
  const wanted = Array.from({ length: waiting }, (_, i) => i);
  await inLanes(wanted, async () => leases.push(await call('POST', '/leases', { labels: ['busy'] })));
  const withLeases = await rssMib(pid);
  const streams: { ended: Promise<void> }[] = [];
  await inLanes(leases, async (lease) => streams.push(await follow(lease)));
  await delay(2_000);
  const withStreams = await rssMib(pid);
  const cpuBefore = await cpuMs(pid);
  await delay(idleSeconds * 1000);
  const idle = (((await cpuMs(pid)) - cpuBefore) * 60) / idleSeconds;
  const active = percentiles((await leaseAtRate(WARM_UP_SECONDS)).activeMs);
  const beganMs = performance.now();
  const ended = Promise.all(streams.map((stream) => stream.ended));
  await inLanes(leases, ({ id }) => call('DELETE', `/leases/${id}`));
  await ended;
  const endedMs = performance.now() - beganMs;
  const what = `${waiting} waiting leases`;
  return [
    { what, value: withLeases - before, unit: 'MiB more' },
    { what: `${what} with as many streams`, value: withStreams - before, unit: 'MiB more', wanted: 'at most 200' },
    { what: `${what} with as many streams, idle`, value: idle, unit: 'ms CPU a minute' },
    { what: `${what}, ${options.perSecond} others a second, p99`, value: active.p99, unit: 'ms' },
    { what: `${what}, all ended and every stream told`, value: endedMs, unit: 'ms' },
    { what: `${what}, memory at the end`, value: await rssMib(pid), unit: 'MiB' },
  ];
}

const result = [...(await measureRate()), ...(await measureStreams())];
process.send?.({ result });
agent.destroy();
process.disconnect();
