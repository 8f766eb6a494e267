import type { Config, Logger } from '@nodepool/core';
import type { Clock } from '@nodepool/zk-protocol';
import type { WebGate } from '../gate.js';
import type { Application } from './application.js';
import { EventStreams } from './events.js';
import { record, TEXT, type ApiCall } from './operation.js';
import type { ServiceApi } from './service-api.js';

/** Options of {@link ServiceWeb}. */
export interface ServiceWebOptions {
  readonly api: ServiceApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly name: string;
  readonly version: string;
  readonly hostname: string;
  /** The configuration in force. */
  readonly config: () => Config;
  readonly gate: WebGate;
  /** Status for the overview. */
  readonly health: () => { readonly status: string };
}

/** API, status page and event streams of a service. */
export class ServiceWeb {
  readonly #options: ServiceWebOptions;
  readonly #events: EventStreams;
  readonly #unsubscribe: () => void;
  #application: Promise<Application> | undefined;

  constructor(options: ServiceWebOptions) {
    const { api, clock, logger } = options;
    this.#options = options;
    this.#events = new EventStreams({ clock, logger, overview: () => JSON.stringify(this.#overview()) });
    this.#unsubscribe = api.subscribe((event) => this.#events.publish(event));
  }

  /** Answers requests without a route. Loaded with the first one. */
  readonly application: Application = (request, response) => {
    this.#application ??= this.#create();
    this.#application.then(
      (answer) => answer(request, response),
      (error: unknown) => {
        this.#application = undefined;
        this.#options.logger.error('Failed to load the web API', { error });
        response.writeHead(500, { 'Content-Type': 'text/plain; charset=UTF-8' }).end('Internal error\n');
      },
    );
  };

  /** Closes streams. */
  close(): void {
    this.#unsubscribe();
    this.#events.close();
  }

  #overview() {
    const { api, name, version, hostname, health } = this.#options;
    return { service: name, version, hostname, status: health().status, ...api.overview() };
  }

  async #create(): Promise<Application> {
    const { api, clock, logger, name, version, config, gate } = this.#options;
    const { createApplication } = await import('./application.js');
    const overview = {
      ...({ id: 'getOverview', method: 'GET', path: '/overview', summary: 'Data of the status page' } as const),
      answer: { type: 'object' },
      handle: () => this.#overview(),
    };
    const token = {
      ...({ id: 'checkToken', method: 'POST', path: '/token', summary: 'Name of the token' } as const),
      answer: record({ name: TEXT }),
      handle: ({ actor = '' }: ApiCall) => ({ name: actor }),
    };
    const part = { operations: [...api.operations, overview, token], schemas: api.schemas };
    const tokens = () => config().apiTokens;
    return createApplication({ api: part, events: this.#events, tokens, gate, clock, logger, title: name, version });
  }
}
