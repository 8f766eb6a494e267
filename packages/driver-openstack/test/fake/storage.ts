import { createHash, randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { FakeCloudState, FakeVolume } from './state.js';
import { object, page, Refusal, type FakeAnswer, type FakeRequest } from './http.js';

/** Glance. */
export function image(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const { method, path } = request;
  if (path === '/' || path === '') {
    const links = [{ rel: 'self', href: `${request.root}/v2/` }];
    return { status: 300, body: { versions: ['v2.16', 'v2.15'].map((id) => ({ id, status: 'CURRENT', links })) } };
  }
  if (path === '/v2/images' && method === 'GET') return listImages(state, request);
  if (path === '/v2/images' && method === 'POST') {
    checkImage(request.body);
    const made = state.addImage('', { ...request.body, status: 'queued', size: null, checksum: null });
    return { status: 201, body: made };
  }
  const match = /^\/v2\/images\/([^/]+)(\/file)?$/.exec(path);
  const id = match?.[1] ?? '';
  const found = state.images.get(id);
  if (!found) throw new Refusal(404, `Failed to find image ${id}`);
  if (match?.[2] !== undefined && method === 'PUT') {
    const checksum = createHash('md5').update(request.raw).digest('hex');
    const os_hash_value = createHash('sha512').update(request.raw).digest('hex');
    Object.assign(found, {
      status: 'active',
      size: request.raw.length,
      checksum,
      os_hash_algo: 'sha512',
      os_hash_value,
    });
    return { status: 204 };
  }
  if (method === 'DELETE') {
    // https://docs.openstack.org/api-ref/image/v2/#delete-image
    if (found['protected'] === true) throw new Refusal(403, `Image ${id} is protected and cannot be deleted.`);
    state.images.delete(id);
    return { status: 204 };
  }
  if (method === 'PATCH') return patchImage(found, request);
  return { status: 200, body: found };
}

/** https://docs.openstack.org/api-ref/image/v2/#create-image, request parameters; further properties are texts. */
const IMAGE_TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  min_disk: Number.isInteger,
  min_ram: Number.isInteger,
  protected: (value) => typeof value === 'boolean',
  os_hidden: (value) => typeof value === 'boolean',
  tags: (value) => Array.isArray(value) && value.every((tag) => typeof tag === 'string'),
  visibility: (value) => ['public', 'private', 'shared', 'community'].includes(value as string),
  container_format: (value) =>
    ['ami', 'ari', 'aki', 'bare', 'ovf', 'ova', 'docker', 'compressed'].includes(value as string),
};

function checkImage(body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    const fits = IMAGE_TYPES[name] ?? ((one: Json) => typeof one === 'string');
    if (fits(value)) continue;
    throw new Refusal(400, `Provided object does not match schema 'image': ${JSON.stringify(value)} in ${name}`);
  }
}

/** https://docs.openstack.org/api-ref/image/v2/#update-image */
function patchImage(found: JsonObject, { headers, raw }: FakeRequest): FakeAnswer {
  if (headers['content-type'] !== 'application/openstack-images-v2.1-json-patch') {
    throw new Refusal(415, 'Content type is not supported');
  }
  const changes = JSON.parse(raw.toString()) as { op: string; path: string; value: Json }[];
  for (const { op, path, value } of changes) {
    const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
    if (op === 'replace' && !(name in found)) throw new Refusal(409, `Property ${name} does not exist.`);
    checkImage({ [name]: value });
    found[name] = value;
  }
  return { status: 200, body: found };
}

function listImages(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const filters = ['name', 'status', 'owner'].flatMap((name) => {
    const value = request.query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const shown = [...state.images.values()].filter(
    (one) => state.knobs.ignoresFilters || filters.every(([name, value]) => one[name] === value),
  );
  const { items, next } = page(shown, request.query, Math.min(25, state.knobs.pageSize));
  return { status: 200, body: { images: items, ...(next !== undefined && { next: `/v2/images?${next}` }) } };
}

/** Cinder. */
export function volume(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const { method, path } = request;
  if (path === '/' || path === '') {
    const links = [{ rel: 'self', href: `${request.root}/` }];
    return {
      status: 200,
      body: { versions: [{ id: 'v3.0', status: 'CURRENT', version: '3.70', min_version: '3.0', links }] },
    };
  }
  if (path === '/volumes/detail') {
    const { items, next } = page([...state.volumes.values()].map(showVolume), request.query, state.knobs.pageSize);
    const links: JsonObject =
      next === undefined ? {} : { volumes_links: [{ rel: 'next', href: `${request.root}/volumes/detail?${next}` }] };
    return { status: 200, body: { volumes: items, ...links } };
  }
  if (path === '/limits') return { status: 200, body: { limits: { rate: [], absolute: volumeLimits(state) } } };
  if (path === '/volumes' && method === 'POST') {
    const { size, metadata } = object(request.body['volume']);
    const made = { id: randomUUID(), size: Number(size), status: 'available', metadata: object(metadata) };
    state.volumes.set(made.id, { ...made, serverId: undefined, keep: true });
    return { status: 202, body: { volume: made } };
  }
  const match = /^\/volumes\/([^/]+)(\/metadata)?$/.exec(path);
  const found = state.volumes.get(match?.[1] ?? '');
  if (!found) throw new Refusal(404, `Volume ${match?.[1]} could not be found.`);
  if (match?.[2] !== undefined) {
    found.metadata = { ...found.metadata, ...object(request.body['metadata']) };
    return { status: 200, body: { metadata: found.metadata } };
  }
  if (method === 'GET') return { status: 200, body: { volume: showVolume(found) } };
  if (found.serverId !== undefined) throw new Refusal(400, 'Invalid volume: Volume status must be available or error');
  state.volumes.delete(found.id);
  return { status: 202 };
}

function volumeLimits({ volumes, quota, knobs }: FakeCloudState): JsonObject {
  const all = [...volumes.values()];
  return {
    ...{ maxTotalVolumes: quota.volumes, maxTotalVolumeGigabytes: quota.gigabytes, totalVolumesUsed: all.length },
    totalGigabytesUsed: all.reduce((sum, { size }) => sum + size, knobs.snapshotGb),
  };
}

function showVolume({ id, size, status, metadata, serverId }: FakeVolume): JsonObject {
  const attachments = serverId === undefined ? [] : [{ server_id: serverId, id, device: '/dev/vda' }];
  return { id, size, status, metadata, attachments, name: '', bootable: 'true' };
}
