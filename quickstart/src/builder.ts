import { open } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BUILDER } from './binaries.js';
import { startNode, stop } from './child.js';
import type { Child } from './child.js';
import { IMAGES, Story } from './story.js';
import { QuickStartError } from './terminal.js';

/** Where the build tool of the quick start is. */
const BIN = fileURLToPath(new URL('../bin', import.meta.url));
const GRACE_MS = 5_000;
const POLL_MS = 50;
const IMAGE_TIMEOUT_MS = 120_000;

/** `nodepool-builder -f`, and what its log tells. */
export class ImageBuilder {
  private constructor(
    readonly child: Child,
    private readonly story: Story,
    private readonly log: string,
  ) {}

  /** Starts it. The launcher runs already: it has the ZooKeeper server. */
  static async start(file: string, stateDir: string, log: string, env: NodeJS.ProcessEnv): Promise<ImageBuilder> {
    const output = await open(log, 'w');
    const args = ['-f', '-c', file, '--state-dir', stateDir, '--no-webapp', '--drain-timeout', '2'];
    const child = startNode(BUILDER, args, {
      stdio: ['ignore', output.fd, output.fd],
      env: { ...env, PATH: [BIN, env['PATH'] ?? ''].join(delimiter) },
    });
    await output.close();
    return new ImageBuilder(child, await Story.follow(log, IMAGES), log);
  }

  /** Resolves when machines can be launched. @throws QuickStartError when there is no image after a while */
  async waitForImage(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + IMAGE_TIMEOUT_MS;
    while (this.story.machines === 0) {
      if (performance.now() > deadline || this.child.process.exitCode !== null) {
        throw new QuickStartError(`there is no image to launch machines from; see ${this.log}`);
      }
      await delay(POLL_MS, undefined, { signal });
    }
  }

  async stop(): Promise<void> {
    await stop(this.child, GRACE_MS);
    await this.story.close();
  }
}
