import { SILENT_READER, type EntryReader, type TaskManager } from '@nodepool/core';
import { Compute } from './compute.js';
import { ImageApi } from './image.js';
import { NetworkApi } from './network.js';
import { Service } from './service.js';
import { Session, type SessionOptions } from './session.js';
import type { CloudSettings } from './clouds/types.js';
import { createTransport } from './transport.js';
import type { RefusedLogin } from './token-source.js';
import type { Transport } from './transport.js';
import { VolumeApi } from './volume.js';

/** Options of a client. */
export interface ClientOptions extends Omit<SessionOptions, 'transport'> {
  /** Default: the network. */
  readonly transport?: Transport | undefined;
  /** Reports entries of lists that cannot be read. Default: they are not reported. */
  readonly entries?: Pick<EntryReader, 'readEach'> | undefined;
}

/** The calls of a driver to one cloud in one region. */
export class OpenStackClient {
  readonly settings: CloudSettings;
  readonly compute: Compute;
  readonly network: NetworkApi;
  readonly image: ImageApi;
  readonly volume: VolumeApi;
  readonly #session: Session;

  /** @throws {ConfigError} a certificate file of the cloud cannot be read */
  constructor(options: ClientOptions) {
    const transport = options.transport ?? createTransport(options.settings);
    const { entries = SILENT_READER } = options;
    this.settings = options.settings;
    this.#session = new Session({ ...options, transport });
    this.compute = new Compute(new Service(this.#session, 'compute', entries));
    this.network = new NetworkApi(new Service(this.#session, 'network', entries));
    this.image = new ImageApi(new Service(this.#session, 'image', entries));
    this.volume = new VolumeApi(new Service(this.#session, 'volume', entries));
  }

  /** Logs in, to verify the credentials and the address of Keystone. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.#session.token(signal);
  }

  /** The refused login; `undefined` once Keystone has accepted one. */
  get refusal(): RefusedLogin | undefined {
    return this.#session.refusal;
  }

  /** The queues of its calls. */
  get taskManagers(): readonly TaskManager[] {
    return this.#session.taskManagers;
  }

  /** The project of the client, if known. */
  async projectId(signal: AbortSignal): Promise<string | undefined> {
    return (await this.#session.token(signal))?.projectId;
  }

  /** Aborts all calls and closes all connections. */
  close(): Promise<void> {
    return this.#session.close();
  }
}
