import type { Readable } from 'node:stream';
import { ProviderUnavailableError } from '@nodepool/core';
import type { Transport, TransportAnswer, TransportRequest } from '../../src/transport.js';
import type { FakeIncus } from './fake-incus.js';

/** Carries calls to a fake daemon without a socket, so that they take no time but that of its clock. */
export class InProcessTransport implements Transport {
  readonly address = 'unix:/fake/unix.socket';
  readonly #daemon: () => FakeIncus;

  constructor(daemon: () => FakeIncus) {
    this.#daemon = daemon;
  }

  async send({ method, path, headers, body, signal }: TransportRequest): Promise<TransportAnswer> {
    const raw =
      body === undefined ? Buffer.alloc(0) : typeof body === 'string' ? Buffer.from(body) : await readAll(body);
    await Promise.resolve();
    signal.throwIfAborted();
    const { status, text, isLost } = this.#daemon().handle(method, path, raw, headers);
    if (isLost === true) throw new ProviderUnavailableError(`${method} ${path}: the connection was reset`);
    return { status, text };
  }

  listen(_path: string, signal: AbortSignal): Promise<ReadableStream<string>> {
    signal.throwIfAborted();
    let end = () => {};
    const stream = new ReadableStream<string>({
      start: (controller) => {
        const unsubscribe = this.#daemon().subscribe((message) => controller.enqueue(message));
        end = () => {
          signal.removeEventListener('abort', close);
          unsubscribe();
        };
        const close = () => {
          end();
          controller.close();
        };
        signal.addEventListener('abort', close, { once: true });
      },
      cancel: () => end(),
    });
    return Promise.resolve(stream);
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
