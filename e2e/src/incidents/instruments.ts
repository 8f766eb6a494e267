import type { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import type { Answer } from './report.js';

const WEB_MS = 5_000;

/** Where operators look. */
export interface Looked {
  readonly launchers: readonly LauncherProcess[];
  /** Environment of commands. */
  readonly env: Readonly<Record<string, string>>;
  /** Arguments of `explain`. */
  readonly explained: readonly string[];
}

/** Asks all instruments at once. @param afterS - seconds since the cause */
export async function askAll(looked: Looked, afterS: number): Promise<Answer[]> {
  const [doctor, labels, explain, health, metrics] = await Promise.all([
    runCommand(looked, ['doctor']),
    runCommand(looked, ['labels']).then((lines) => lines.filter((line) => line.startsWith('|')).slice(1)), // without its header
    runCommand(looked, ['explain', ...looked.explained]),
    askWeb(looked, '/healthz', healthLines),
    askWeb(looked, '/metrics', (text) => text.split('\n').filter((line) => line.startsWith('nodepool_condition{'))),
  ]);
  return Object.entries({ doctor, healthz: health, labels, explain, metrics }).map(([instrument, lines]) => ({
    ...{ instrument, afterS, lines },
  }));
}

/** Runs `nodepool` with the file of the first launcher. @returns the lines that it printed */
export async function runCommand({ launchers, env }: Looked, args: readonly string[]): Promise<string[]> {
  const nodepool = NodepoolProcess.start([...(launchers[0]?.commonOptions ?? []), ...args], env);
  await nodepool.end();
  return `${nodepool.stdout}\n${nodepool.stderr}`.split('\n').filter((line) => line.trim() !== '');
}

async function askWeb(
  { launchers }: Looked,
  path: string,
  linesOf: (text: string) => readonly string[],
): Promise<string[]> {
  const answers = launchers.map(async ({ name, webPort }) => {
    try {
      const signal = AbortSignal.timeout(WEB_MS);
      const response = await fetch(`http://127.0.0.1:${webPort}${path}`, { signal });
      return linesOf(await response.text()).map((line) => `${name}: ${line}`);
    } catch (error) {
      return [`${name}: (asked in vain: ${String(error)})`];
    }
  });
  return (await Promise.all(answers)).flat();
}

interface Health {
  readonly status?: string;
  readonly conditions?: readonly { readonly name: string; readonly type: string; readonly message: string }[];
}

function healthLines(text: string): string[] {
  const { status = 'unknown', conditions = [] } = JSON.parse(text) as Health;
  return [status, ...conditions.map(({ name, type, message }) => `${type} ${name}: ${message}`)];
}
