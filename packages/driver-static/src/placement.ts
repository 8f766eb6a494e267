/** What a placement needs to know of a host. */
export interface Slots {
  readonly labels: readonly string[];
  readonly maxParallelJobs: number;
}

/** Whether the hosts have a slot for each of the labels at once. A host with several labels counts only once per slot. */
export function canPlace(hosts: readonly Slots[], labels: readonly string[]): boolean {
  if (labels.length === 0) return true;
  const used = hosts.map((): string[] => []);
  return labels.every((label) => place(hosts, used, label, new Set()));
}

/** Finds a slot for a label, moving others to hosts that will do for them as well. */
function place(hosts: readonly Slots[], used: string[][], label: string, asked: Set<number>): boolean {
  for (const [index, host] of hosts.entries()) {
    if (!host.labels.includes(label) || asked.has(index)) continue;
    asked.add(index);
    const here = used[index] ?? [];
    if (here.length < host.maxParallelJobs) {
      here.push(label);
      return true;
    }
    const moved = here.findIndex((other) => place(hosts, used, other, asked));
    if (moved < 0) continue;
    here[moved] = label;
    return true;
  }
  return false;
}
