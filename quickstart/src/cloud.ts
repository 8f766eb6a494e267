import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAKE_CLOUD } from './binaries.js';
import { eachLine, startNode } from './child.js';
import { QuickStartError } from './terminal.js';

/** Longest directory in which the path of a Unix socket still fits on every system. */
const MAX_PATH = 96;

/** The cloud of the quick start. The launcher starts it when it needs it; its server is a process of its own. */
export class Cloud {
  /** Where it keeps its machines, its keys and its socket. */
  readonly dir: string;

  constructor(stateDir: string) {
    const dir = join(stateDir, 'cloud');
    const digest = createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
    this.dir = Buffer.byteLength(dir) <= MAX_PATH ? dir : join(tmpdir(), `nodepool-quickstart-${digest}`);
  }

  /** Private key of who may log in to its machines. */
  get key(): string {
    return join(this.dir, 'id_ed25519');
  }

  /** Script and arguments that end the server. */
  get stopCommand(): string[] {
    return [FAKE_CLOUD, '--dir', this.dir, 'stop'];
  }

  /** How many machines there are, whatever Nodepool knows of them. */
  async countMachines(): Promise<number> {
    return (await this.#call('list')).length;
  }

  /** Ends the server, if it runs. Its machines would continue at the next start. */
  async stop(): Promise<void> {
    if (existsSync(join(this.dir, 'socket'))) await this.#call('stop');
  }

  async #call(command: string): Promise<string[]> {
    const child = startNode(FAKE_CLOUD, ['--dir', this.dir, command], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [lines, complaints]: string[][] = [[], []];
    const [{ code }] = await Promise.all([
      child.ended,
      eachLine(child.process.stdout, (line) => lines?.push(line)),
      eachLine(child.process.stderr, (line) => complaints?.push(line)),
    ]);
    if (code !== 0) throw new QuickStartError(`nodepool-fake-cloud ${command}: ${complaints?.join(' ')}`);
    return lines ?? [];
  }
}
