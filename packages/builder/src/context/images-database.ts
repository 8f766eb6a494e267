import { stat } from 'node:fs/promises';
import {
  buildPath,
  buildsPath,
  encodeBuild,
  ensureDatabaseId,
  isZooKeeperError,
  newBuild,
  readDatabaseMark,
  writeDatabaseMark,
  type ConnectionState,
  type DatabaseMark,
} from '@nodepool/zk-protocol';
import { imageFile, listBuildFiles, type BuildFiles } from '../files/image-files.js';
import { readChecksums } from '../files/checksums.js';
import type { BuilderContext } from './builder-context.js';

/** What an {@link ImagesDatabase} works with. */
type DatabaseContext = Pick<BuilderContext, 'zk' | 'logger' | 'config' | 'imagesDir' | 'hostname' | 'builderId'>;

/**
 * Compares the database with the one to which the images directory belongs. An empty database, or that of another chroot, knows
 * none of the builds there, and would otherwise be the reason to delete them all.
 */
export class ImagesDatabase {
  #id: string | undefined;
  #problem: string | undefined;
  #isChecked = false;
  #connects = 0;
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;

  /** @param settled - called when work may start again after a reconnect or a decision */
  constructor(
    private readonly context: DatabaseContext,
    private readonly settled: () => void,
  ) {
    this.#unsubscribe = context.zk.onState((state) => this.#onState(state));
  }

  /** Id of the database; `undefined` before it has been read. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Why the files do not belong to this database, if they do not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** False until the database has been compared after a connect, and while the files belong to another one. */
  get isOwn(): boolean {
    return this.#isChecked && this.#problem === undefined;
  }

  /**
   * Reads the id of the database, and carries out an operator's order.
   * @returns whether the files belong to this database
   * @throws an error of ZooKeeper or the file system: then they are not known to belong to it
   */
  async check(): Promise<boolean> {
    const { zk, imagesDir, logger } = this.context;
    const [wasOwn, connects] = [this.isOwn, this.#connects];
    const id = await ensureDatabaseId(zk, this.#stop.signal);
    const mark = await readDatabaseMark(imagesDir);
    const problem = await this.#compare(id, mark);
    if (problem !== undefined && problem !== this.#problem) logger.error(problem, { directory: imagesDir });
    if (problem === undefined && this.#problem !== undefined)
      logger.info('The images directory belongs to the database');
    this.#id = id;
    this.#problem = problem;
    this.#isChecked = connects === this.#connects;
    if (!wasOwn && this.isOwn) this.settled();
    return this.isOwn;
  }

  /** {@link check}, if there is a connection; never rejects. */
  async recheck(): Promise<void> {
    const { zk, logger } = this.context;
    if (zk.state !== 'CONNECTED') return;
    await this.check().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) logger.warn('Failed to compare images-dir with the database', { error });
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.#stop.abort(new Error('the builder stops'));
  }

  #onState(state: ConnectionState): void {
    // Data may have been lost while the server was away.
    this.#isChecked = false;
    this.#connects += 1;
    if (state === 'CONNECTED' && this.#id !== undefined) void this.recheck();
  }

  /** @returns why the files do not belong to the database, after an order for it was carried out */
  async #compare(id: string, mark: DatabaseMark | undefined): Promise<string | undefined> {
    const { imagesDir } = this.context;
    if (mark?.id === id && mark.order === undefined) return undefined;
    const builds = [...(await listBuildFiles(imagesDir)).values()];
    const unknown = await this.#withoutRecord(builds);
    if (mark?.id === id && mark.order === 'adopt') await this.#adopt(unknown);
    else if (mark?.id !== id && !belongs(mark, builds.length, unknown.length)) {
      return (
        `${unknown.length} of ${builds.length} builds in images-dir "${imagesDir}" are not known to the database ${id}` +
        `${mark ? `; they belong to ${mark.id}` : ''}, so it deletes none of them, and builds and uploads nothing`
      );
    }
    await writeDatabaseMark(imagesDir, { id, order: undefined });
    return undefined;
  }

  async #withoutRecord(builds: readonly BuildFiles[]): Promise<BuildFiles[]> {
    const { zk } = this.context;
    const unknown: BuildFiles[] = [];
    for (const build of builds) {
      if ((await zk.exists(buildPath(build.image, build.buildId))) === undefined) unknown.push(build);
    }
    return unknown;
  }

  async #adopt(builds: readonly BuildFiles[]): Promise<void> {
    const { logger } = this.context;
    for (const build of builds) {
      const fields = { image: build.image, build: build.buildId };
      if (await this.#record(build)) logger.info('Build adopted', fields);
      else logger.warn('Build not adopted, as no image file of it has checksums', fields);
    }
  }

  /** The tool writes the checksums at the end, so without them a file may be a part. @returns false without any */
  async #record(files: BuildFiles): Promise<boolean> {
    const { zk, config, imagesDir, hostname, builderId } = this.context;
    const { image, buildId: id } = files;
    const formats: string[] = [];
    let builtMs = 0;
    for (const format of [...files.formats].sort()) {
      const file = imageFile(imagesDir, image, id, format);
      const { md5, sha256 } = await readChecksums(file);
      if (md5 === undefined && sha256 === undefined) continue;
      formats.push(format);
      builtMs = Math.max(builtMs, (await stat(file)).mtimeMs);
    }
    if (formats.length === 0) return false;
    const { username = null, pythonPath = null, shellType = null } = config().diskimages.get(image) ?? {};
    const fields = { builder: hostname, builderId, formats, username, pythonPath, shellType };
    const build = newBuild({ image, id }, { state: 'ready', ...fields }, Math.round(builtMs));
    await zk.ensurePath(buildsPath(image));
    try {
      await zk.create(buildPath(image, id), encodeBuild(build));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    }
    return true;
  }
}

/**
 * Whether builds belong to a database whose id the directory does not have. Without a mark, as after an upgrade, one known build
 * is enough: the others may be left by a crash. With the mark of another database, as after an import of records, all must be known.
 */
const belongs = (mark: DatabaseMark | undefined, builds: number, unknown: number): boolean =>
  unknown === 0 || (mark === undefined && unknown < builds);
