import { listNodes, listRequests } from './nodepool.js';
import type { NodepoolCommand, NodeRow, RequestRow } from './nodepool.js';
import { draw } from './terminal.js';

const PAUSE_MS = 400;
const LEGEND = '○ free   ● in use   ◌ being made   × being cleaned up';

/** One character for a machine. */
function mark({ state, locked }: NodeRow): string {
  if (state === 'init' || state === 'building') return '◌';
  if (state === 'ready') return locked === 'unlocked' ? '○' : '●';
  return state === 'in-use' || state === 'hold' ? '●' : '×';
}

/** The machines of each provider, and the jobs. */
export function pictureOf(nodes: readonly NodeRow[], requests: readonly RequestRow[]): string[] {
  const providers = [...new Set(nodes.map(({ provider }) => provider))].sort();
  const width = Math.max(0, ...providers.map(({ length }) => length));
  const rows = providers.map((name) => {
    const marks = nodes.filter(({ provider }) => provider === name).map(mark);
    return `  ${name.padEnd(width)}  ${marks.join(' ')}`;
  });
  const waiting = requests.filter(({ state }) => state !== 'fulfilled').length;
  return ['', ...rows, `  ${LEGEND}`, `  ${waiting} ${waiting === 1 ? 'request waits' : 'requests wait'}`];
}

/** Keeps the picture up to date while a terminal shows it. @returns what ends it */
export function followPicture(command: NodepoolCommand): () => void {
  if (!process.stdout.isTTY) return () => {};
  const look = async () => {
    const [nodes, requests] = await Promise.all([listNodes(command), listRequests(command)]);
    draw(pictureOf(nodes, requests));
  };
  // a failed look is repeated; the end of the launcher is reported elsewhere
  const timer = setInterval(() => void look().catch(() => {}), PAUSE_MS);
  return () => {
    clearInterval(timer);
    draw([]);
  };
}
