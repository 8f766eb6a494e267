import { describe, expect, it } from 'vitest';
import type { JsonObject, LauncherId, NodeId, RequestId } from '../src/records/types.js';
import { decodeComponent, decodeLegacyLauncher, encodeComponent } from '../src/records/component.js';
import { encodeLegacyLauncher, isPoolComponent, judgeModelApi } from '../src/records/component.js';
import { decodeBuild, decodeUpload, encodeBuild, encodeUpload } from '../src/records/image.js';
import { decodeNode, encodeNode } from '../src/records/node.js';
import { compareRequests, decodeRequest, encodeRequest, requestOrderKey } from '../src/records/request.js';
import { classifyPath, lastPart } from '../src/records/paths.js';
import { loadVectors } from './vectors.js';

interface Vector {
  path: string;
  note: string;
  raw: string;
  body: JsonObject;
  decoded?: JsonObject;
  must_keep?: string[];
}

interface Defaults {
  raw: string;
  note?: string;
  decoded_except_state_time: JsonObject;
}

const NOW_MS = 1_700_000_000_000;
const parse = (body: Buffer): JsonObject => JSON.parse(body.toString('utf8')) as JsonObject;
function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing decoded');
  return value;
}
const vectorsOf = (name: string): [string, Vector][] =>
  loadVectors<{ vectors: Vector[] }>(name).vectors.map((vector) => [vector.note, vector]);

describe('nodes', () => {
  const recode = (path: string, raw: string): Buffer => {
    const node = decodeNode(lastPart(path) as NodeId, Buffer.from(raw), undefined, NOW_MS);
    return encodeNode(present(node));
  };

  it.each(vectorsOf('nodes'))('round-trips: %s', (_note, { path, raw, body }) => {
    expect(parse(recode(path, raw))).toEqual(body);
  });

  it.each(vectorsOf('nodes').filter(([, vector]) => !vector.must_keep))(
    'writes keys in order: %s',
    (_note, { path, raw, body }) => {
      expect(Object.keys(parse(recode(path, raw)))).toEqual(Object.keys(body));
    },
  );

  it.each(loadVectors<{ vectors: Defaults[] }>('node-decode-defaults').vectors)(
    'reads a short body: $note',
    ({ raw, decoded_except_state_time: expected }) => {
      const { state_time: stateTime, ...rest } = parse(recode('/nodepool/nodes/0000000001', raw));

      expect(rest).toEqual(expected);
      expect(stateTime).toBe((JSON.parse(raw) as JsonObject).state_time ?? NOW_MS / 1000);
    },
  );
});

describe('requests', () => {
  const recode = (path: string, raw: string): JsonObject => {
    const request = decodeRequest(lastPart(path) as RequestId, Buffer.from(raw), undefined, NOW_MS);
    return parse(encodeRequest(present(request)));
  };

  it.each(vectorsOf('requests'))('round-trips: %s', (_note, { path, raw, body }) => {
    // Whatever the first write left out is added with the values the data model assumes.
    expect(recode(path, raw)).toEqual({ declined_by: [], nodes: [], reuse: true, ...body });
  });

  it.each(loadVectors<{ decode_defaults: Defaults[] }>('requests').decode_defaults)(
    'reads a short body: $raw',
    ({ raw, decoded_except_state_time: expected }) => {
      const body = recode('/nodepool/requests/200-0000000001', raw);

      expect(body).toEqual({ ...expected, state_time: body.state_time });
    },
  );

  it('orders by priority text, relative priority and sequence, with either comparison', () => {
    const { input, sorted_ids: expected } = loadVectors<{
      ordering: { input: { id: RequestId; relative_priority: number }[]; sorted_ids: string[] };
    }>('requests').ordering;
    const requests = input.map(({ id, relative_priority }) => ({ id, relativePriority: relative_priority }));

    const compared = [...requests].sort(compareRequests).map(({ id }) => id);
    const keyed = [...requests].sort((a, b) => (requestOrderKey(a) < requestOrderKey(b) ? -1 : 1)).map(({ id }) => id);

    expect(compared).toEqual(expected);
    expect(keyed).toEqual(expected);
  });
});

describe('builds and uploads', () => {
  it.each(vectorsOf('builds'))('round-trips a build: %s', (_note, { path, raw, body, decoded }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'build') throw new Error(`${path} is no build`);

    const build = decodeBuild({ image: shape.image, id: shape.buildId }, Buffer.from(raw), undefined, NOW_MS);

    expect(parse(encodeBuild(present(build)))).toEqual(decoded ?? body);
  });

  it.each(vectorsOf('uploads'))('round-trips an upload: %s', (_note, { path, raw, body }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'upload') throw new Error(`${path} is no upload`);

    const upload = decodeUpload({ ...shape, id: shape.uploadId }, Buffer.from(raw), undefined, NOW_MS);

    expect(upload).toMatchObject({ image: 'img1', provider: 'cloud-a', id: '0000000002' });
    expect(parse(encodeUpload(present(upload)))).toEqual(body);
  });
});

describe('components', () => {
  const all = loadVectors<{ vectors: (Vector & { read_as?: JsonObject })[] }>('components').vectors;

  it.each(all.filter(({ read_as }) => !read_as))('round-trips byte for byte: $note', ({ path, raw }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'component') throw new Error(`${path} is no component`);

    const component = decodeComponent(shape.kind, shape.id, Buffer.from(raw), undefined);

    expect(isPoolComponent(present(component))).toBe(shape.kind === 'pool');
    expect(encodeComponent(present(component)).toString()).toBe(JSON.stringify(JSON.parse(raw)));
  });

  it.each(all.filter(({ read_as }) => read_as))('reads as a pool: $note', ({ path, raw, read_as: expected }) => {
    const pool = present(decodeLegacyLauncher(lastPart(path), Buffer.from(raw), undefined));

    expect({
      id: pool.launcherId,
      provider_name: pool.providerName,
      supported_labels: pool.supportedLabels,
      priority: pool.priority,
      paused: pool.paused,
    }).toEqual(expected);
    expect(pool).toMatchObject({ legacy: true, hostname: 'nl01.example.com' });
  });

  it('writes a legacy registration with sorted labels', () => {
    const pool = present(decodeLegacyLauncher('l', Buffer.from('{"supported_labels": ["small", "big"]}'), undefined));

    const body = encodeLegacyLauncher({ ...pool, launcherId: 'l-1' as LauncherId, providerName: 'p' }).toString();

    expect(body).toBe('{"id":"l-1","provider_name":"p","supported_labels":["big","small"]}');
  });

  it('judges data-model versions', () => {
    const cases = loadVectors<{
      model_api: { own: number; others: number[]; system: number; start?: string; intended?: string }[];
    }>('components').model_api;

    for (const { own, others, system, start, intended } of cases) {
      const expected = intended === 'refuse to start' ? 'refuse' : (start ?? 'ok');
      expect(judgeModelApi(own, others)).toEqual({ system, start: expected });
    }
  });
});
