import { fileURLToPath } from 'node:url';
import { NODEPOOL } from './binaries.js';
import { eachLine, startNode, stop } from './child.js';
import type { Child } from './child.js';
import { LOOPBACK } from './configuration.js';
import { QuickStartError } from './terminal.js';

const VISIT = fileURLToPath(new URL('./visit.js', import.meta.url));
/** The command returns its nodes and closes its session within this time. */
const STOP_GRACE_MS = 7000;

/** How the command is called here. */
export interface NodepoolCommand {
  readonly configFile: string;
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Port of the launcher's web server. */
  readonly webPort: number;
  /** Ends the running command. */
  readonly signal: AbortSignal;
  /** Private key for machines of the user; `undefined`: what ssh finds. */
  readonly key?: string | undefined;
}

type Output = (line: string) => void;

async function call(
  { configFile, stateDir, env, signal }: NodepoolCommand,
  args: readonly string[],
  onOutput: Output,
  onProgress: Output,
): Promise<void> {
  signal.throwIfAborted();
  const [name = '', ...rest] = args;
  const common = ['-c', configFile, '--state-dir', stateDir];
  const child = startNode(NODEPOOL, [name, ...common, ...rest], { stdio: ['ignore', 'pipe', 'pipe'], env });
  const end = onAbort(signal, child);
  const [{ code, signal: killedBy }] = await Promise.all([
    child.ended,
    eachLine(child.process.stdout, onOutput),
    eachLine(child.process.stderr, onProgress),
  ]);
  await end();
  signal.throwIfAborted();
  if (code !== 0) throw new QuickStartError(`nodepool ${name} ended with ${killedBy ?? `status ${code}`}`);
}

/** Stops the process when the signal aborts. The function returned waits for that, and listens no more. */
function onAbort(signal: AbortSignal, child: Child): () => Promise<void> {
  let stopped = Promise.resolve();
  const onSignal = () => {
    stopped = stop(child, STOP_GRACE_MS);
  };
  signal.addEventListener('abort', onSignal, { once: true });
  return () => {
    signal.removeEventListener('abort', onSignal);
    return stopped;
  };
}

/**
 * `nodepool run LABEL... -- node visit.js`: takes nodes, logs in to each, and returns them.
 * @param workSeconds - how long the command takes on each node
 * @param keep - a file: the nodes are kept at least as long as it is there
 */
export function visitNodes(
  command: NodepoolCommand,
  labels: readonly string[],
  output: { readonly onOutput: Output; readonly onProgress: Output },
  workSeconds = 0,
  keep?: string,
): Promise<void> {
  const args = ['run', ...labels, '--', process.execPath, VISIT, String(workSeconds)];
  if (keep !== undefined) args.push(keep);
  return call(command, args, output.onOutput, output.onProgress);
}

/** What a machine of the user is asked to run. */
const HELLO = 'echo "hello from $(uname -n) on $(uname -s)"';

/** `nodepool ssh LABEL -- echo hello`: for machines of the user, whose keys ssh knows. */
export function sayHello(
  command: NodepoolCommand,
  label: string,
  output: { readonly onOutput: Output; readonly onProgress: Output },
): Promise<void> {
  const identity = command.key === undefined ? [] : ['--identity', command.key];
  return call(command, ['ssh', ...identity, label, '--', 'sh', '-c', HELLO], output.onOutput, output.onProgress);
}

/** A row of `/node-list`, as far as it is used here. */
export interface NodeRow {
  readonly id: string;
  readonly provider: string;
  readonly state: string;
  readonly locked: string;
}

/** A row of `/request-list`, as far as it is used here. */
export interface RequestRow {
  readonly id: string;
  readonly state: string;
}

/** The node is ready and unlocked. */
export const isFree = ({ state, locked }: NodeRow): boolean => state === 'ready' && locked === 'unlocked';

/** The web server's listings are a second old at most. */
async function listing<Row>({ webPort, signal }: NodepoolCommand, path: string): Promise<Row[]> {
  const answer = await fetch(`http://${LOOPBACK}:${webPort}${path}`, {
    headers: { accept: 'application/json' },
    signal,
  });
  if (!answer.ok) throw new QuickStartError(`${path} of the launcher answered ${answer.status}`);
  return (await answer.json()) as Row[];
}

/** All nodes there are. */
export function listNodes(command: NodepoolCommand): Promise<NodeRow[]> {
  return listing<NodeRow>(command, '/node-list');
}

/** All requests there are. */
export function listRequests(command: NodepoolCommand): Promise<RequestRow[]> {
  return listing(command, '/request-list');
}
