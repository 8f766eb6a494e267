import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FAKE_CLOUD } from './binaries.js';
import { eachLine, startNode } from './child.js';
import type { Cloud } from './cloud.js';
import { QuickStartError } from './terminal.js';

/** Longest directory in which the path of a Unix socket still fits on every system. */
const MAX_PATH = 96;

/** The simulated cloud. The launcher starts it when it needs it; its server is a process of its own. */
export class FakeCloud implements Cloud {
  /** Where it keeps its machines, its keys and its socket. */
  readonly dir: string;

  constructor(stateDir: string) {
    const dir = join(stateDir, 'cloud');
    const digest = createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
    this.dir = Buffer.byteLength(dir) <= MAX_PATH ? dir : join(tmpdir(), `nodepool-quickstart-${digest}`);
  }

  get key(): string {
    return join(this.dir, 'id_ed25519');
  }

  get env(): Record<string, string> {
    return { NODEPOOL_CLOUD_DIR: this.dir };
  }

  get stopCommand(): string[] {
    return [FAKE_CLOUD, '--dir', this.dir, 'stop'];
  }

  prepare(): Promise<void> {
    return Promise.resolve(); // the launcher starts it
  }

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
