import type { Readable } from 'node:stream';
import type { Transport, TransportRequest, TransportResponse } from '../../src/client/index.js';
import { bodyText, type FakeOpenStack } from '../fake/fake-openstack.js';

/** Carries calls to a fake cloud without a socket, so that they take no time but that of its clock. */
export class InProcessTransport implements Transport {
  readonly #cloud: () => FakeOpenStack;

  constructor(cloud: () => FakeOpenStack) {
    this.#cloud = cloud;
  }

  async send({ method, url, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const raw =
      body === undefined ? Buffer.alloc(0) : typeof body === 'string' ? Buffer.from(body) : await readAll(body);
    signal.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    const answered = this.#cloud().handle(method, new URL(url), headers, raw);
    const answer = await Promise.race([answered, aborted]);
    return {
      status: answer.status,
      headers: { 'content-type': 'application/json', ...answer.headers },
      text: bodyText(answer),
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
