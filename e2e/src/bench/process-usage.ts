import { readFile } from 'node:fs/promises';

/** Clock ticks of `/proc/PID/stat` per second, the value of every Linux port Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU time a process has used so far, user and system, in milliseconds; 10 ms exact. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** Resident memory of a process in MiB. */
export async function rssMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** Distribution of a list of measurements. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** Percentiles of measurements; of none at all, zero. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
