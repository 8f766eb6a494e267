import { get as httpGet } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { findEmbeddedServer } from '@nodepool/core/config';
import { connect, encodeNode, newNode, type ZooKeeper } from '@nodepool/zk-protocol';
import { openBrowser } from '../browser.js';
import { LauncherProcess } from '../launcher-process.js';
import { ZuulClient } from '../zuul-client.js';
import type { Finding } from './finding.js';
import { cpuMs, percentiles, rssMib } from './process-usage.js';

const CONFIG = {
  labels: [{ name: 'small' }],
  providers: [
    {
      ...{ name: 'rack', driver: 'static' },
      pools: [
        {
          name: 'main',
          nodes: [{ name: '127.0.0.1', labels: 'small', 'host-key-checking': false, 'max-parallel-jobs': 8 }],
        },
      ],
    },
  ],
};
const JOBS = 100;
/** Rounds, alternately alone and beside calls. The median of their p99 is robust against outliers. */
const ROUNDS = 7;
const CALLS_PER_SECOND = 20;
const PAGES = 100;
const IDLE_S = 30;

/** Cost of web clients: listings of 10,000 nodes, the status page with 5,000, and 100 open pages. */
export async function measureWeb(): Promise<Finding[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-bench-web-'));
  const launcher = await LauncherProcess.start(directory, 'web', CONFIG);
  try {
    await launcher.whenReady();
    const found = await findEmbeddedServer([join(directory, 'state')]);
    const zk = await connect({ servers: found?.servers ?? '' });
    await addNodes(zk, 5_000);
    await whenNodes(launcher, 5_000);
    const findings = await measurePage(launcher);
    await addNodes(zk, 5_000);
    await whenNodes(launcher, 10_000);
    findings.push(await measureListing(launcher));
    findings.push(...(await measureOtherWork(launcher, zk)), ...(await measureOpenPages(launcher)));
    await zk.close();
    return findings;
  } finally {
    await launcher.stop();
    await rm(directory, { recursive: true });
  }
}

/** Adds records of a provider that is not configured, so that the launcher ignores them. */
async function addNodes(zk: ZooKeeper, count: number): Promise<void> {
  const record = encodeNode({
    ...newNode(
      { state: 'in-use', provider: 'elsewhere', pool: 'main', labels: ['small'], username: 'zuul' },
      Date.now(),
    ),
    ...{ publicIpv4: '192.0.2.1', hostname: 'node.example.org', externalId: '0a1b2c3d', allocatedTo: null },
  });
  for (let done = 0; done < count; done += 500) {
    const batch = Array.from({ length: Math.min(500, count - done) });
    await Promise.all(batch.map(() => zk.create('/nodepool/nodes/', record, { sequential: true })));
  }
}

async function whenNodes(launcher: LauncherProcess, count: number): Promise<void> {
  while (((await launcher.getJson('/node-list')) as unknown[]).length < count) await delay(200);
}

async function measureListing(launcher: LauncherProcess): Promise<Finding> {
  const times: number[] = [];
  for (let n = 0; n < 15; n++) {
    await delay(1_100); // answers are cached for a second
    const began = performance.now();
    await readAll(launcher, '/node-list');
    times.push(performance.now() - began);
  }
  const { p50 } = percentiles(times);
  return { what: '/node-list as JSON, 10,000 nodes, p50', value: p50, unit: 'ms', wanted: 'under 50' };
}

/** Reads the body without parsing it, to measure only the launcher. */
function readAll(launcher: LauncherProcess, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json' };
    httpGet({ port: launcher.webPort, host: '127.0.0.1', path, headers }, (response) => {
      response.resume();
      response.on('end', resolve);
    }).on('error', reject);
  });
}

async function measureOtherWork(launcher: LauncherProcess, zk: ZooKeeper): Promise<Finding[]> {
  const client = new ZuulClient(zk);
  await p99OfWork(client);
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await p99OfWork(client));
    beside.push(await besideCalls(launcher, () => p99OfWork(client)));
  }
  const what = 'requests, p99';
  return [
    { what: `${what}, alone`, value: percentiles(alone).p50, unit: 'ms' },
    {
      what: `${what}, beside ${CALLS_PER_SECOND} /node-list a second with 10,000 nodes`,
      ...{ value: percentiles(beside).p50, unit: 'ms', wanted: 'at most twice of alone' },
    },
  ];
}

/** Latency of a request, 99th percentile. */
async function p99OfWork(client: ZuulClient): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < JOBS; n++) {
    const began = performance.now();
    const node = await client.getNode('small');
    times.push(performance.now() - began);
    await client.giveBack([node]);
  }
  return percentiles(times).p99;
}

async function besideCalls<T>(launcher: LauncherProcess, work: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const calls: Promise<void>[] = [];
  const caller = (async () => {
    while (!stop.signal.aborted) {
      calls.push(readAll(launcher, '/node-list'));
      await delay(1000 / CALLS_PER_SECOND);
    }
  })();
  const result = await work();
  stop.abort();
  await caller;
  await Promise.all(calls);
  return result;
}

async function measurePage(launcher: LauncherProcess): Promise<Finding[]> {
  const browser = await openBrowser();
  try {
    const times: number[] = [];
    for (let n = 0; n < 6; n++) {
      const page = await browser.newPage();
      const began = performance.now();
      await page.goto(`http://127.0.0.1:${launcher.webPort}/`);
      await page.getByRole('heading', { name: 'Providers' }).waitFor();
      times.push(performance.now() - began);
      await page.close();
    }
    const [first = 0, ...others] = times;
    const what = 'status page with 5,000 nodes, until it can be used';
    return [
      { what: `${what}, the first time`, value: first, unit: 'ms', wanted: 'under 1000' },
      { what: `${what}, again, p50`, value: percentiles(others).p50, unit: 'ms', wanted: 'under 1000' },
    ];
  } finally {
    await browser.close();
  }
}

async function measureOpenPages(launcher: LauncherProcess): Promise<Finding[]> {
  const idle = async () => {
    await delay(5_000);
    const before = await cpuMs(launcher.pid);
    await delay(IDLE_S * 1_000);
    return ((await cpuMs(launcher.pid)) - before) / (IDLE_S * 10);
  };
  const without = await idle();
  const path = '/api/v1/events?types=overview';
  const pages = Array.from({ length: PAGES }, () => {
    const outgoing = httpGet({ port: launcher.webPort, host: '127.0.0.1', path, agent: false }, (r) => r.resume());
    outgoing.on('error', () => undefined); // destroyed at the end
    return outgoing;
  });
  const withPages = await idle();
  const rss = await rssMib(launcher.pid);
  for (const page of pages) page.destroy();
  const what = 'nothing moves, 10,000 nodes';
  return [
    { what: `${what}, no page is open`, value: without, unit: '% of a core' },
    { what: `${what}, ${PAGES} pages are open`, value: withPages, unit: '% of a core', wanted: 'under 5' },
    { what: `memory with ${PAGES} pages`, value: rss, unit: 'MiB' },
  ];
}
