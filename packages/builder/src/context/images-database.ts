import { stat } from 'node:fs/promises';
import {
  buildPath,
  buildsPath,
  encodeBuild,
  ensureDatabaseId,
  isOlderCopy,
  isZooKeeperError,
  newBuild,
  readDatabaseMark,
  writeDatabaseMark,
  type ConnectionState,
  type DatabaseMark,
  type JsonObject,
} from '@nodepool/zk-protocol';
import { FILES_KEY } from '@nodepool/core/service';
import { imageFile, listBuildFiles, type BuildFiles } from '../files/image-files.js';
import { readChecksums } from '../files/checksums.js';
import { measureFile } from './recorded-files.js';
import type { BuilderContext } from './builder-context.js';
import { builderIdPath } from './unique-builder.js';

/** What an {@link ImagesDatabase} works with. */
type DatabaseContext = Pick<BuilderContext, 'zk' | 'logger' | 'config' | 'imagesDir' | 'hostname' | 'builderId'>;

/** Why the files in the images directory do not belong to the database. */
export interface DatabaseProblem {
  readonly reason: 'Unknown' | 'OlderCopy';
  readonly message: string;
}

/**
 * Compares the database with the one to which the images directory belongs. An empty database, that of another chroot, or an older
 * copy does not know builds there, and would otherwise be the reason to delete them.
 */
export class ImagesDatabase {
  #id: string | undefined;
  #problem: DatabaseProblem | undefined;
  #isChecked = false;
  #connects = 0;
  #marking: Promise<void> = Promise.resolve();
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
  get problem(): DatabaseProblem | undefined {
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
    if (problem !== undefined && problem.message !== this.#problem?.message)
      logger.error(problem.message, { directory: imagesDir });
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

  /**
   * Stores in the database and beside the files that a build was recorded, so that an older copy of the database is found out.
   * @throws an error if the database is such a copy; an error of ZooKeeper or the file system
   */
  async noteBuild(): Promise<void> {
    const { zk, imagesDir } = this.context;
    const mark = await readDatabaseMark(imagesDir);
    if (mark && (await isOlderCopy(zk, mark))) throw new Error('the database is an older copy');
    await this.#mark({ id: mark?.id ?? this.#id ?? (await ensureDatabaseId(zk)), order: mark?.order });
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
  async #compare(id: string, mark: DatabaseMark | undefined): Promise<DatabaseProblem | undefined> {
    const { zk, imagesDir } = this.context;
    const order = mark?.id === id ? mark.order : undefined;
    const isOlder = mark?.id === id && (await isOlderCopy(zk, mark));
    if (mark?.id === id && order === undefined && !isOlder) return undefined;
    const builds = [...(await listBuildFiles(imagesDir)).values()];
    const unknown = await this.#withoutRecord(builds);
    if (order === 'adopt') await this.#adopt(unknown);
    else if (order === undefined && !belongs(mark, builds.length, unknown.length)) {
      const owner = mark && !isOlder ? `; they belong to ${mark.id}` : '';
      const why = isOlder ? ', which is an older copy' : owner;
      return {
        reason: isOlder ? 'OlderCopy' : 'Unknown',
        message:
          `${unknown.length} of ${builds.length} builds in images-dir "${imagesDir}" are not known to the database ${id}` +
          `${why}, so it deletes none of them, and builds and uploads nothing`,
      };
    }
    await this.#mark({ id, order: undefined });
    return undefined;
  }

  /** Writes the mark after a write to the database that an older copy lacks, one at a time. */
  #mark(mark: Pick<DatabaseMark, 'id' | 'order'>): Promise<void> {
    const turn = this.#marking.then(() => this.#writeMark(mark));
    this.#marking = turn.catch(() => undefined);
    return turn;
  }

  async #writeMark(mark: Pick<DatabaseMark, 'id' | 'order'>): Promise<void> {
    const { zk, imagesDir, builderId } = this.context;
    const path = builderIdPath(builderId);
    await zk.ensurePath(path);
    const { version } = await zk.setData(path, '');
    await writeDatabaseMark(imagesDir, { ...mark, lastWrite: { version, path } });
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
    const measured: Record<string, JsonObject> = {};
    let builtMs = 0;
    for (const format of [...files.formats].sort()) {
      const file = imageFile(imagesDir, image, id, format);
      const { md5, sha256 } = await readChecksums(file);
      if (md5 === undefined && sha256 === undefined) continue;
      measured[format] = await measureFile(file, this.#stop.signal);
      builtMs = Math.max(builtMs, (await stat(file)).mtimeMs);
    }
    const formats = Object.keys(measured);
    if (formats.length === 0) return false;
    const { username = null, pythonPath = null, shellType = null } = config().diskimages.get(image) ?? {};
    const fields = { builder: hostname, builderId, formats, username, pythonPath, shellType };
    const adopted = newBuild({ image, id }, { state: 'ready', ...fields }, Math.round(builtMs));
    const build = { ...adopted, raw: { ...adopted.raw, [FILES_KEY]: measured } };
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
 * Whether builds belong to a database whose id the directory does not have, or to an older copy. Without a mark, as after an upgrade, one
 * known build is enough: the others may be left by a crash. With a mark, as after an import of records, all must be known.
 */
const belongs = (mark: DatabaseMark | undefined, builds: number, unknown: number): boolean =>
  unknown === 0 || (mark === undefined && unknown < builds);
