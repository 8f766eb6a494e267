import {
  encodeUpload,
  lastPart,
  newUpload,
  uploadPath,
  uploadsPath,
  withUpload,
  type JsonObject,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import type { BuilderContext } from '../context/builder-context.js';
import type { PlannedUpload } from '../plan/plan-uploads.js';

/**
 * The record of the upload as it is stored now. Each write is conditional: a record that another process changed ends the
 * upload.
 */
export class StoredUpload {
  #current: UploadRecord;

  /** @param stored - as it was read or written last */
  constructor(
    private readonly context: Pick<BuilderContext, 'zk' | 'clock'>,
    stored: UploadRecord,
  ) {
    this.#current = stored;
  }

  /** Creates the record of an upload that begins. */
  static async create(
    context: Pick<BuilderContext, 'zk' | 'clock'>,
    { build, provider }: Pick<PlannedUpload, 'build' | 'provider'>,
  ): Promise<StoredUpload> {
    const { zk, clock } = context;
    const directory = uploadsPath(build.image, build.id, provider);
    const key = { image: build.image, buildId: build.id, provider, id: '' };
    const { username, pythonPath, shellType } = build;
    const upload = newUpload(key, { state: 'uploading', username, pythonPath, shellType }, clock.now());
    const { path, stat } = await zk.create2(`${directory}/`, encodeUpload(upload), { sequential: true });
    return new StoredUpload(context, { ...upload, id: lastPart(path), stat });
  }

  /** The record as stored. */
  get current(): UploadRecord {
    return this.#current;
  }

  /** @param notes - additional keys, such as why the upload failed */
  async update(
    changes: Partial<Pick<UploadRecord, 'state' | 'externalId' | 'externalName' | 'format'>>,
    notes: JsonObject = {},
  ): Promise<void> {
    const { zk, clock } = this.context;
    const changed = withUpload(this.#current, changes, clock.now());
    const next = { ...changed, raw: { ...changed.raw, ...notes } };
    const { image, buildId, provider, id, stat } = next;
    const written = await zk.setData(uploadPath(image, buildId, provider, id), encodeUpload(next), stat?.version);
    this.#current = { ...next, stat: written };
  }
}
