import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NodepoolClient } from '@nodepool/client';
import { expect, onTestFinished } from 'vitest';
import type { LauncherProcess } from './launcher-process.js';
import { LEASE_TOKEN } from './lessee.js';
import { Program } from './program.js';

const RECIPES = fileURLToPath(new URL('../../examples/ci', import.meta.url));

/** Where a test runs a recipe: a folder, the environment of a CI system, and a look at the leases. */
export class RecipeGround {
  private constructor(
    readonly directory: string,
    readonly client: NodepoolClient,
    readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Makes the folder. `curl` and `ssh` are those of this machine, with their arguments written down. */
  static async make(launcher: LauncherProcess): Promise<RecipeGround> {
    const directory = await mkdtemp(join(tmpdir(), 'nodepool-ci-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const [url, token, bin] = [
      `http://127.0.0.1:${launcher.webPort}`,
      join(directory, 'token'),
      join(directory, 'bin'),
    ];
    await writeFile(token, `${LEASE_TOKEN}\n`, { mode: 0o600 });
    const path = `${bin}${delimiter}${process.env['PATH']}`;
    const env = { ...process.env, NODEPOOL_SERVER: url, NODEPOOL_TOKEN_FILE: token, PATH: path, HOME: directory };
    const ground = new RecipeGround(directory, new NodepoolClient({ url, token: LEASE_TOKEN }), env);
    for (const name of ['curl', 'ssh']) {
      await ground.addProgram(name, `printf '%s\\n' "$0 $*" >>'${directory}/arguments'; exec /usr/bin/${name} "$@"`);
    }
    return ground;
  }

  /** Path of a file of the recipes. */
  static path(...names: readonly string[]): string {
    return join(RECIPES, ...names);
  }

  /** Puts a shell script of this name before the programs of this machine. */
  async addProgram(name: string, script: string): Promise<void> {
    await mkdir(join(this.directory, 'bin'), { recursive: true });
    await writeFile(join(this.directory, 'bin', name), `#!/bin/sh\n${script}\n`);
    await chmod(join(this.directory, 'bin', name), 0o755);
  }

  /** Starts a program in the folder. @param more - further environment variables */
  start(program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}, input?: string): Program {
    const started = new Program(program, args, this.directory, { ...this.env, ...more }, input);
    onTestFinished(() => started.signal('SIGKILL'));
    return started;
  }

  /** Leases that wait or are active. */
  current = async () => (await this.client.list()).filter(({ state }) => state === 'waiting' || state === 'active');

  /** No secret was shown: neither in this output nor on a command line. */
  async expectHidden(output: string, secret: string = LEASE_TOKEN): Promise<void> {
    expect(output).not.toContain(secret);
    expect(await readFile(join(this.directory, 'arguments'), 'utf8').catch(() => '')).not.toContain(secret);
  }
}
