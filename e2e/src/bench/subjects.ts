import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from '@nodepool/test-servers';

/** Root of the sources that this program was built from. */
export const THIS_CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Name of the secure file that a launcher reads if it is in its folder. */
export const SECURE_FILE = 'secure.yaml';

/** Requests and single operations sent to ZooKeeper so far. */
export interface Traffic {
  requests: number;
  operations: number;
  /** Operations that change something. */
  writes: number;
}

/** A process that answers node requests: the launcher, or the floor it is measured against. */
export interface Subject {
  readonly name: 'launcher' | 'floor';
  readonly pid: number;
  /** From the start of the process to being ready. */
  readonly startMs: number;
  /** Address of its web server; the floor has none. */
  readonly url?: string | undefined;
  traffic(): Promise<Traffic>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Number of static slots of each label. */
export type Slots = Readonly<Record<string, number>>;

/** Configuration with one static slot per host that is never contacted. */
export function staticConfig(connectString: string | undefined, slots: Slots, port: number): object {
  const nodes = Object.entries(slots).flatMap(([label, count]) =>
    Array.from({ length: count }, (_, i) => ({
      name: `fake-${label}-${i}`,
      labels: [label],
      'host-key-checking': false,
    })),
  );
  const [host, zkPort] = (connectString ?? '').split(':');
  return {
    ...(connectString === undefined ? {} : { 'zookeeper-servers': [{ host, port: Number(zkPort) }] }),
    webapp: { port, listen_address: '127.0.0.1' },
    labels: Object.keys(slots).map((name) => ({ name })),
    providers: [{ name: 'bench', driver: 'static', pools: [{ name: 'main', nodes }] }],
  };
}

/**
 * Starts the real binary and waits until it is ready.
 * @param checkout - root of the built sources it comes from
 * @param replaces - the launcher that gets QUIT, and whose address it has
 */
export async function startLauncher(
  dir: string,
  config: (port: number) => object,
  checkout = THIS_CHECKOUT,
  replaces?: Subject,
): Promise<Subject> {
  const port = replaces?.url ? Number(new URL(replaces.url).port) : ((await freePorts(1))[0] ?? 0);
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'nodepool.yaml');
  await writeFile(file, JSON.stringify(config(port)));
  await replaces?.kill('SIGQUIT');
  const begin = performance.now();
  const log = join(dir, 'logging.yaml');
  const handlers = { file: { class: 'logging.FileHandler', filename: join(dir, 'launcher.log') } };
  await writeFile(log, JSON.stringify({ version: 1, root: { level: 'INFO', handlers: ['file'] }, handlers }));
  const args = [
    ...[...process.execArgv, join(checkout, 'packages/launcher/bin/nodepool-launcher.js'), '-f', '-c', file, '-l', log],
    ...['--state-dir', join(dir, 'state'), '-p', join(dir, 'pid')],
    ...(existsSync(join(dir, SECURE_FILE)) ? ['-s', join(dir, SECURE_FILE)] : []),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  await whenReady(child, `http://127.0.0.1:${port}/ready`);
  const startMs = performance.now() - begin;
  return {
    name: 'launcher',
    pid: child.pid ?? 0,
    startMs,
    url: `http://127.0.0.1:${port}`,
    kill: (signal) => end(child, signal),
    async traffic() {
      const answer = (await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()) as { zookeeper: Traffic };
      return answer.zookeeper;
    },
  };
}

/** Starts the floor with the given number of slots of label `a`. */
export async function startFloor(connectString: string, nodes: number, slot: string): Promise<Subject> {
  const begin = performance.now();
  const child = fork(here('./floor.js'), [JSON.stringify({ connectString, nodes, slot })]);
  await once(child, 'message');
  return {
    name: 'floor',
    pid: child.pid ?? 0,
    startMs: performance.now() - begin,
    kill: (signal) => end(child, signal),
    async traffic() {
      const answer = once(child, 'message') as Promise<[Traffic]>;
      child.send('counters');
      return (await answer)[0];
    },
  };
}

/**
 * Runs a load in a process of its own.
 * @param onMeasuring - called when the warm-up is over
 * @param script - the program of that process
 */
export async function runLoad<Result>(
  options: object,
  onMeasuring: () => Promise<void>,
  script = './load-client.js',
): Promise<Result> {
  const child = fork(here(script), [JSON.stringify(options)]);
  return new Promise<Result>((resolve, reject) => {
    child.on('message', (message: 'measuring' | { result: Result }) => {
      if (message === 'measuring') onMeasuring().catch(reject);
      else resolve(message.result);
    });
    child.on('exit', (code) => reject(new Error(`the load client ended with ${code}`)));
  });
}

/** @param pid - of a process that answers at the address until it has ended */
async function whenReady(child: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(5)) {
    if (child.exitCode !== null) throw new Error(`the launcher ended with ${child.exitCode}`);
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // not listening yet
    }
  }
  throw new Error('the launcher was not ready within 60 s');
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
