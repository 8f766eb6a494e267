import { readdirSync } from 'node:fs';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import type { ProcessUsage } from '@nodepool/core/service';

/** Reads what this process uses; each reading says how busy it was since the one before. */
export function createProcessUsage(): () => ProcessUsage {
  const startTimeSeconds = performance.timeOrigin / 1000;
  let last: EventLoopUtilization | undefined;
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const now = performance.eventLoopUtilization();
    const { utilization } = last ? performance.eventLoopUtilization(now, last) : now;
    last = now;
    return {
      startTimeSeconds,
      cpuUserSeconds: user / 1e6,
      cpuSystemSeconds: system / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      heapTotalBytes: heapTotal,
      eventLoopUtilization: utilization,
      openFiles: countOpenFiles(),
    };
  };
}

function countOpenFiles(): number | undefined {
  try {
    // the folder itself is open while it is read
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined; // only Linux has it
  }
}
