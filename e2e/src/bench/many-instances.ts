import { setTimeout as delay } from 'node:timers/promises';
import type { ChurnOptions, ChurnResult } from './churn-client.js';
import type { Finding } from './finding.js';
import { cpuMs, rssMib } from './process-usage.js';
import { withCloud } from './scenarios.js';
import { runLoad, type Subject } from './subjects.js';

interface Sample {
  cpu: number;
  rss: number;
  heap: number;
}

/** Number of samples, evenly spaced. */
const PARTS = 30;
const THIRD = PARTS / 3;

async function sample(subject: Subject, seconds: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let i = 0; i <= PARTS; i++) {
    const [cpu, rss, heap] = await Promise.all([cpuMs(subject.pid), rssMib(subject.pid), heapMib(subject)]);
    samples.push({ cpu, rss, heap });
    if (i < PARTS) await delay((seconds * 1000) / PARTS);
  }
  return samples;
}

/** Heap used by the launcher, garbage included: the smallest of several values is the best estimate. */
async function heapMib(subject: Subject): Promise<number> {
  const text = await (await fetch(`${subject.url}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(text)?.[1] ?? 0) / 1024 ** 2;
}

const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Holds many nodes and replaces some each second, to see whether the launcher's CPU or memory grows. */
export async function measureManyInstances(nodes: number, perSecond: number, seconds: number): Promise<Finding[]> {
  return withCloud({}, async ({ connectString, subject }) => {
    const options: ChurnOptions = { connectString, nodes, perSecond, seconds };
    let sampling: Promise<Sample[]> = Promise.resolve([]);
    const begin = () => {
      sampling = sample(subject, seconds);
      return Promise.resolve();
    };
    const result = await runLoad<ChurnResult>(options, begin, './churn-client.js');
    const samples = await sampling;
    const what = (text: string) => `${nodes} instances, ${perSecond} replaced a second for ${seconds} s: ${text}`;
    return [
      ...findingsOf(samples, (perSecond * seconds) / PARTS, what),
      { what: what('fulfilled, p50'), value: result.fulfilMs.p50, unit: 'ms' },
      { what: what('fulfilled, p99'), value: result.fulfilMs.p99, unit: 'ms' },
      { what: what('most waiting at once'), value: result.mostWaiting, unit: 'requests' },
    ];
  });
}

/** Findings from the samples. @param perPart - replacements between two samples */
function findingsOf(samples: readonly Sample[], perPart: number, what: (text: string) => string): Finding[] {
  const cpu = samples.slice(1).map((after, i) => (after.cpu - (samples[i]?.cpu ?? 0)) / perPart);
  const rss = samples.map((one) => one.rss);
  const heap = samples.map((one) => one.heap);
  return [
    { what: what('CPU per replacement, first third'), value: average(cpu.slice(0, THIRD)), unit: 'ms' },
    {
      what: what('CPU per replacement, last third'),
      value: average(cpu.slice(-THIRD)),
      unit: 'ms',
      wanted: 'the same',
    },
    { what: what('RSS at the beginning'), value: rss[0] ?? 0, unit: 'MiB' },
    { what: what('RSS, greatest'), value: Math.max(...rss), unit: 'MiB', wanted: 'below 300' },
    { what: what('least heap in the first third'), value: Math.min(...heap.slice(0, THIRD)), unit: 'MiB' },
    {
      what: what('least heap in the last third'),
      value: Math.min(...heap.slice(-THIRD)),
      unit: 'MiB',
      wanted: 'not growing',
    },
    { what: what('RSS, average of the middle third'), value: average(rss.slice(THIRD, 2 * THIRD)), unit: 'MiB' },
    {
      what: what('RSS, average of the last third'),
      value: average(rss.slice(-THIRD)),
      unit: 'MiB',
      wanted: 'not growing',
    },
  ];
}
