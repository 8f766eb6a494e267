import { setTimeout as delay } from 'node:timers/promises';
import type { ChurnOptions, ChurnResult } from './churn-client.js';
import type { Finding } from './finding.js';
import { cpuMs, rssMib } from './process-usage.js';
import { withCloud } from './scenarios.js';
import { runLoad, type Subject } from './subjects.js';

interface Sample {
  cpu: number;
  rss: number;
}

/** Looks at the launcher so many times at even distances. */
async function sample(subject: Subject, seconds: number, parts: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let i = 0; i <= parts; i++) {
    samples.push({ cpu: await cpuMs(subject.pid), rss: await rssMib(subject.pid) });
    if (i < parts) await delay((seconds * 1000) / parts);
  }
  return samples;
}

const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Holds so many nodes and replaces some of them each second: does the launcher's work or memory grow? */
export async function measureManyInstances(nodes: number, perSecond: number, seconds: number): Promise<Finding[]> {
  return withCloud({}, async ({ connectString, subject }) => {
    const options: ChurnOptions = { connectString, nodes, perSecond, seconds };
    const parts = 6;
    let sampling: Promise<Sample[]> = Promise.resolve([]);
    const begin = () => {
      sampling = sample(subject, seconds, parts);
      return Promise.resolve();
    };
    const result = await runLoad<ChurnResult>(options, begin, './churn-client.js');
    const samples = await sampling;
    const perPart = (perSecond * seconds) / parts;
    const cpu = samples.slice(1).map((after, i) => (after.cpu - (samples[i]?.cpu ?? 0)) / perPart);
    const rss = samples.map((one) => one.rss);
    const what = (text: string) => `${nodes} instances, ${perSecond} replaced a second for ${seconds} s: ${text}`;
    return [
      { what: what('CPU per replacement, first third'), value: average(cpu.slice(0, 2)), unit: 'ms' },
      { what: what('CPU per replacement, last third'), value: average(cpu.slice(-2)), unit: 'ms', wanted: 'the same' },
      { what: what('RSS at the beginning'), value: rss[0] ?? 0, unit: 'MiB' },
      { what: what('RSS, greatest'), value: Math.max(...rss), unit: 'MiB', wanted: 'below 300' },
      { what: what('RSS at the end'), value: rss.at(-1) ?? 0, unit: 'MiB', wanted: 'not growing' },
      { what: what('fulfilled, p50'), value: result.fulfilMs.p50, unit: 'ms' },
      { what: what('fulfilled, p99'), value: result.fulfilMs.p99, unit: 'ms' },
      { what: what('most waiting at once'), value: result.mostWaiting, unit: 'requests' },
    ];
  });
}
