import { createHash } from 'node:crypto';
import type { ApiImage } from '../../src/api.js';
import { failure, success, type Call, type FakeAnswer } from './call.js';
import type { FakeOperations } from './operations.js';

/** The images of the fake daemon. */
export class FakeImages {
  readonly #images: Map<string, ApiImage>;
  readonly #operations: FakeOperations;
  readonly #product: string;

  constructor(images: Map<string, ApiImage>, operations: FakeOperations, product: string) {
    this.#images = images;
    this.#operations = operations;
    this.#product = product;
  }

  /** Answers a call below `/1.0/images`. */
  handle({ method, path, raw, headers }: Call, name: string): FakeAnswer {
    const images = this.#images;
    if (path[1] === 'aliases') {
      const [found] = [...images.values()].filter(({ aliases }) => aliases.some((alias) => alias.name === path[2]));
      const isMissing = path[2] === 'missing' && !found;
      return isMissing ? failure(404, 'Image alias not found') : success({ name: path[2] });
    }
    if (method === 'POST') return this.#upload(raw, headers);
    if (name === '') return success([...images.values()]);
    const found = images.get(name);
    if (!found) return failure(404, 'Image not found');
    if (method === 'GET') return success(found);
    return this.#operations.begin('Deleting image', 100, () => {
      images.delete(name);
      return '';
    });
  }

  #upload(raw: Buffer, headers: Readonly<Record<string, string>>): FakeAnswer {
    const [metadata, rootfs] = partsOf(raw);
    const text = metadata.subarray(512, metadata.indexOf(0, 512)).toString();
    const { properties } = JSON.parse(text) as { properties: Record<string, string> };
    const fingerprint = createHash('sha256').update(metadata).update(rootfs).digest('hex');
    const header = this.#product === 'incus' ? 'x-incus-fingerprint' : 'x-lxd-fingerprint';
    return this.#operations.begin(
      'Downloading image',
      500,
      () => {
        if (headers[header] !== fingerprint)
          return `fingerprints don't match, got ${fingerprint} expected ${headers[header]}`;
        if (this.#images.has(fingerprint)) return 'Image with same fingerprint already exists';
        this.#images.set(fingerprint, { fingerprint, type: 'container', properties, aliases: [] });
        return '';
      },
      { fingerprint },
    );
  }
}

/** The two parts of a multipart body. */
function partsOf(raw: Buffer): [Buffer, Buffer] {
  const boundary = raw.subarray(0, raw.indexOf('\r\n'));
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const next = raw.indexOf(boundary, at + boundary.length);
    if (next < 0) break;
    const part = raw.subarray(at + boundary.length, next - 2);
    parts.push(part.subarray(part.indexOf('\r\n\r\n') + 4));
    at = next;
  }
  return [parts[0] ?? Buffer.alloc(0), parts[1] ?? Buffer.alloc(0)];
}
