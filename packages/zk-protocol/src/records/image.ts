import type { Stat } from '../client/contract/types.js';
import { copyWith, keepUnknown, NO_BODY, readBody, seconds, text, textOr, timeMs, toBuffer } from './fields.js';
import type { BuildRecord, Json, JsonObject, UploadRecord } from './types.js';

/** Interpreter assumed for records without the key. */
const OLD_PYTHON_PATH = '/usr/bin/python2';

/** Fields of a build that callers may set. */
export type BuildFields = Partial<Omit<BuildRecord, 'image' | 'id' | 'raw' | 'stat'>>;
/** Fields of an upload that callers may set. */
export type UploadFields = Partial<Omit<UploadRecord, 'image' | 'buildId' | 'provider' | 'id' | 'raw' | 'stat'>>;

/** Identifies a build; image and id are in the path only. */
export type BuildKey = Pick<BuildRecord, 'image' | 'id'>;
/** Identifies an upload. */
export type UploadKey = Pick<UploadRecord, 'image' | 'buildId' | 'provider' | 'id'>;

/**
 * Reads a stored build.
 * @param nowMs - default for a missing `state_time`
 * @returns `undefined` for an empty body
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeBuild(
  key: BuildKey,
  body: Buffer,
  stat: Stat | undefined,
  nowMs: number,
): BuildRecord | undefined {
  return readBody('build', `${key.image}/${key.id}`, body, (raw) => ({
    image: key.image,
    id: key.id,
    state: text(raw.state, 'state') ?? '',
    stateTimeMs: timeMs(raw.state_time, 'state_time') ?? nowMs,
    builder: text(raw.builder, 'builder'),
    builderId: text(raw.builder_id, 'builder_id'),
    formats: splitFormats(text(raw.formats, 'formats')),
    username: textOr(raw.username, 'username', 'zuul'),
    pythonPath: textOr(raw.python_path, 'python_path', OLD_PYTHON_PATH),
    shellType: text(raw.shell_type, 'shell_type'),
    raw,
    stat,
  }));
}

function splitFormats(formats: string | null): string[] {
  return formats === null || formats === '' ? [] : formats.split(',');
}

const KNOWN_BUILD_KEYS: ReadonlySet<string> = new Set(
  'state state_time builder builder_id formats username python_path shell_type'.split(' '),
);

/** The body to store; builder and formats are absent when unset, formats are sorted. */
export function encodeBuild(build: BuildRecord): Buffer {
  const body: { [key: string]: Json } = {
    state: build.state,
    state_time: seconds(build.stateTimeMs, build.raw.state_time),
  };
  if (build.builder !== null) body.builder = build.builder;
  if (build.builderId !== null) body.builder_id = build.builderId;
  if (build.formats.length > 0) body.formats = [...build.formats].sort().join(',');
  body.username = build.username;
  body.python_path = build.pythonPath;
  body.shell_type = build.shellType;
  keepUnknown(body, build.raw, KNOWN_BUILD_KEYS);
  return toBuffer(body, build.raw);
}

/** A build that is not stored yet. */
export function newBuild(key: BuildKey, fields: BuildFields & Pick<BuildRecord, 'state'>, nowMs: number): BuildRecord {
  const build: BuildRecord = {
    image: key.image,
    id: key.id,
    state: fields.state,
    stateTimeMs: nowMs,
    builder: null,
    builderId: null,
    formats: [],
    username: null,
    pythonPath: null,
    shellType: null,
    raw: NO_BODY,
    stat: undefined,
  };
  return copyWith<BuildRecord>(build, fields);
}

/** A copy of the build with some fields changed. Setting a state sets its time to now. */
export function withBuild(build: BuildRecord, changes: BuildFields, nowMs: number): BuildRecord {
  return copyWith<BuildRecord>(build, changes.state === undefined ? changes : { stateTimeMs: nowMs, ...changes });
}

/** The body of the record that pauses an image. Nodepool only checks that the record exists. */
export function encodePauseReason(reason: string): Buffer {
  return Buffer.from(JSON.stringify({ reason }));
}

/** Reason for pausing an image; `undefined` if none is stored. */
export function decodePauseReason(body: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    const reason = typeof value === 'object' && value !== null && 'reason' in value ? value.reason : undefined;
    return typeof reason === 'string' ? reason : undefined;
  } catch {
    return undefined; // Nodepool writes an empty body
  }
}

/**
 * Reads a stored upload.
 * @param nowMs - default for a missing `state_time`
 * @returns `undefined` for an empty body
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeUpload(
  key: UploadKey,
  body: Buffer,
  stat: Stat | undefined,
  nowMs: number,
): UploadRecord | undefined {
  const name = `${key.image}/${key.buildId}/${key.provider}/${key.id}`;
  return readBody('upload', name, body, (raw) => ({
    image: key.image,
    buildId: key.buildId,
    provider: key.provider,
    id: key.id,
    state: text(raw.state, 'state') ?? '',
    stateTimeMs: timeMs(raw.state_time, 'state_time') ?? nowMs,
    externalId: text(raw.external_id, 'external_id'),
    externalName: text(raw.external_name, 'external_name'),
    format: text(raw.format, 'format'),
    username: textOr(raw.username, 'username', 'zuul'),
    pythonPath: textOr(raw.python_path, 'python_path', OLD_PYTHON_PATH),
    shellType: text(raw.shell_type, 'shell_type'),
    raw,
    stat,
  }));
}

const KNOWN_UPLOAD_KEYS: ReadonlySet<string> = new Set(
  'state state_time external_id external_name format username python_path shell_type'.split(' '),
);

/** The body to store. */
export function encodeUpload(upload: UploadRecord): Buffer {
  const body: JsonObject = {
    state: upload.state,
    state_time: seconds(upload.stateTimeMs, upload.raw.state_time),
    external_id: upload.externalId,
    external_name: upload.externalName,
    format: upload.format,
    username: upload.username,
    python_path: upload.pythonPath,
    shell_type: upload.shellType,
  };
  keepUnknown(body, upload.raw, KNOWN_UPLOAD_KEYS);
  return toBuffer(body, upload.raw);
}

/** An upload that is not stored yet. A failed upload is stored as a new record with all other fields `null`. */
export function newUpload(
  key: UploadKey,
  fields: UploadFields & Pick<UploadRecord, 'state'>,
  nowMs: number,
): UploadRecord {
  const upload: UploadRecord = {
    image: key.image,
    buildId: key.buildId,
    provider: key.provider,
    id: key.id,
    state: fields.state,
    stateTimeMs: nowMs,
    externalId: null,
    externalName: null,
    format: null,
    username: null,
    pythonPath: null,
    shellType: null,
    raw: NO_BODY,
    stat: undefined,
  };
  return copyWith<UploadRecord>(upload, fields);
}

/** A copy of the upload with some fields changed. Setting a state sets its time to now. */
export function withUpload(upload: UploadRecord, changes: UploadFields, nowMs: number): UploadRecord {
  return copyWith<UploadRecord>(upload, changes.state === undefined ? changes : { stateTimeMs: nowMs, ...changes });
}
