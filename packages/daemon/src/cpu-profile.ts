import { access, constants, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Session } from 'node:inspector/promises';

async function firstWritable(directories: readonly string[]): Promise<string> {
  for (const directory of directories) {
    try {
      await access(directory, constants.W_OK);
      return directory;
    } catch {
      // try the next one
    }
  }
  throw new Error(`none of these directories can be written: ${directories.join(', ')}`);
}

/** Records a CPU profile between two calls of {@link CpuProfiler.toggle}. */
export class CpuProfiler {
  readonly #directories: readonly string[];
  readonly #program: string;
  #session: Session | undefined;

  /** @param program - part of the file name; @param directories - the profile is written to the first writable one */
  constructor(program: string, directories: readonly string[]) {
    this.#program = program;
    this.#directories = directories;
  }

  get running(): boolean {
    return this.#session !== undefined;
  }

  /**
   * Starts recording, or stops and writes a `.cpuprofile` for Chrome DevTools or VS Code.
   * @returns the file written; `undefined` when recording started
   */
  async toggle(nowMs: number): Promise<string | undefined> {
    if (!this.#session) {
      await this.#begin();
      return undefined;
    }
    return this.#end(this.#session, nowMs);
  }

  async #begin(): Promise<void> {
    const inspector = await import('node:inspector/promises'); // loaded on demand to keep the start fast
    const session = new inspector.Session();
    session.connect();
    this.#session = session;
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
  }

  async #end(session: Session, nowMs: number): Promise<string> {
    this.#session = undefined;
    try {
      const { profile } = await session.post('Profiler.stop');
      const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-');
      const file = join(await firstWritable(this.#directories), `${this.#program}-${process.pid}-${stamp}.cpuprofile`);
      await writeFile(file, JSON.stringify(profile), { flag: 'wx', mode: 0o600 });
      return file;
    } finally {
      session.disconnect();
    }
  }
}
