import { randomUUID } from 'node:crypto';
import type { Clock } from '@nodepool/core';
import { failure, success, type Body, type Call, type FakeAnswer } from './call.js';
import { FakeImages } from './images.js';
import { FakeOperations } from './operations.js';
import { emptyState, type FakeInstance, type FakeState } from './state.js';

/** Options of the fake daemon. */
export interface FakeOptions {
  readonly product?: 'lxd' | 'incus';
  readonly isTrusted?: boolean;
  /** Names of cluster members. Default: no cluster. */
  readonly members?: readonly string[];
}

/** A daemon in memory on a clock, that answers as LXD 5.0.2 and Incus do. */
export class FakeIncus {
  readonly state: FakeState = emptyState();
  readonly calls: string[] = [];
  readonly #clock: Clock;
  readonly #options: FakeOptions;
  readonly #operations: FakeOperations;
  readonly #images: FakeImages;
  #addresses = 0;
  #isTrusted: boolean;
  #isRestricted = false;

  constructor(clock: Clock, options: FakeOptions = {}) {
    this.#clock = clock;
    this.#operations = new FakeOperations(clock, this.state.operations);
    this.#images = new FakeImages(this.state.images, this.#operations, options.product ?? 'lxd');
    this.#options = options;
    this.#isTrusted = options.isTrusted ?? true;
  }

  /** Sends the messages of the event stream to a listener. @returns how to end it */
  subscribe(listener: (message: string) => void): () => void {
    return this.#operations.subscribe(listener);
  }

  /** Adds an image with an alias. */
  addImage(alias: string): void {
    const fingerprint = randomUUID().replaceAll('-', '').repeat(2);
    this.state.images.set(fingerprint, { fingerprint, type: 'container', properties: {}, aliases: [{ name: alias }] });
  }

  /** Removes the client from the trust store. */
  distrust(): void {
    this.#isTrusted = false;
  }

  /** Adds the client to the trust store again. */
  trust(): void {
    this.#isTrusted = true;
  }

  /** Restricts the certificate of the client to its project. */
  restrict(): void {
    this.#isRestricted = true;
  }

  handle(method: string, url: string, raw: Buffer, headers: Readonly<Record<string, string>> = {}): FakeAnswer {
    const { pathname, searchParams: query } = new URL(url, 'http://incus');
    const path = pathname.split('/').slice(2).map(decodeURIComponent);
    const isJson = headers['content-type'] === undefined || headers['content-type'].includes('json');
    const body = isJson && raw.length > 0 ? (JSON.parse(raw.toString()) as Body) : {};
    this.calls.push(`${method} ${pathname}`);
    if (this.state.unavailable > 0 && this.state.unavailable--) return failure(503, 'LXD daemon is shutting down');
    if (!this.#isTrusted && !['', 'certificates'].includes(path[0] ?? '')) return failure(403, 'not authorized');
    if (this.#isRestricted && query.has('all-projects')) return failure(403, 'not authorized');
    return this.#route({ method, path, query, body, raw, headers });
  }

  #route(call: Call): FakeAnswer {
    const [kind = '', name = ''] = call.path;
    switch (kind) {
      case '':
        return success(this.#server());
      case 'certificates':
        return this.#trust(call.body);
      case 'instances':
        return name === '' ? this.#instances(call) : this.#instance(call, name);
      case 'operations':
        return this.#operation(name);
      case 'images':
        return this.#images.handle(call, name);
      case 'projects':
        return success({ name, config: this.state.projectConfig });
      case 'profiles':
        return this.state.profiles.has(name) ? success({ name }) : failure(404, 'not found');
      case 'storage-pools':
        return this.state.storagePools.has(name) ? success({ name }) : failure(404, 'not found');
      case 'networks':
        if (name !== '') return name === 'br0' ? success({ name }) : failure(404, 'Network not found');
        return success([
          { name: 'br0', managed: true },
          { name: 'eth0', managed: false },
        ]);
      case 'resources':
        return success({ cpu: { total: 8 }, memory: { total: 16 * 2 ** 30 } });
      case 'cluster':
        return success((this.#options.members ?? []).map((one) => ({ server_name: one, status: 'Online' })));
      default:
        return failure(404, 'not found');
    }
  }

  #server(): Body {
    const { product = 'lxd', members } = this.#options;
    const version = product === 'lxd' ? '5.0.2' : '6.0.0';
    const extensions = product === 'incus' ? ['instance_create_start'] : [];
    if (!this.#isTrusted) return { auth: 'untrusted', api_extensions: extensions };
    const environment = { server: product, server_version: version, server_clustered: members !== undefined };
    return { auth: 'trusted', api_extensions: extensions, environment };
  }

  #trust({ password, trust_token: token, name }: Body): FakeAnswer {
    const given = this.#options.product === 'incus' ? token : password;
    if (typeof given !== 'string' || typeof name !== 'string') return failure(403, 'not authorized');
    this.state.trusted.add(name);
    this.#isTrusted = true;
    return success(null);
  }

  #instances({ method, body, query }: Call): FakeAnswer {
    if (method === 'GET') {
      const elsewhere = query.has('all-projects') ? this.state.elsewhere : [];
      return success([...[...this.state.instances.values()].map((one) => this.#shown(one)), ...elsewhere]);
    }
    const fate = this.state.fates[0];
    if (fate !== undefined) this.state.fates.shift();
    if (fate === 'quota') return failure(500, 'Reached maximum number of instances in project "default"');
    const limit = this.state.projectConfig['limits.instances'];
    if (limit !== undefined && this.state.instances.size >= Number(limit)) {
      return failure(500, 'Reached maximum number of instances in project "default"');
    }
    const source = body['source'] as Record<string, string>;
    if (source['alias'] === 'missing') return failure(404, 'Image alias not found');
    if (fate === 'capacity')
      return this.#operations.begin('Creating instance', 100, () => 'write rootfs: no space left on device');
    const name = String(body['name']);
    if (this.state.instances.has(name)) {
      return this.#operations.begin(
        'Creating instance',
        100,
        () =>
          `Failed creating instance record: Add instance info to the database: This "instances" entry already exists`,
      );
    }
    const made = this.#make(name, body, query.get('target') ?? 'none');
    const starts = body['start'] === true;
    const answer = this.#operations.begin('Creating instance', this.state.times.createMs, () => {
      made.busy = undefined;
      return starts ? this.#run(made, fate) : '';
    });
    if (!starts && (fate === 'error-state' || fate === 'never-ready')) this.#fates.set(name, fate);
    return fate === 'lost-reply' ? { ...answer, isLost: true } : answer;
  }

  readonly #fates = new Map<string, string>();

  #make(name: string, body: Body, location: string): FakeInstance {
    const devices = {
      eth0: { type: 'nic', name: 'eth0' },
      root: { type: 'disk', path: '/' },
      ...(body['devices'] as object),
    };
    const config = { ...(body['config'] as Record<string, string>), 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' };
    const made: FakeInstance = {
      shown: {
        ...{ name, type: String(body['type']), status: 'Stopped', location, config },
        ...{ expanded_config: config, expanded_devices: devices },
        created_at: new Date(this.#clock.now()).toISOString(),
      },
      ephemeral: body['ephemeral'] === true,
      addressMs: undefined,
      busy: 'create',
      files: new Map(),
      address: `fake-10.77.0.${++this.#addresses}`,
    };
    this.state.instances.set(name, made);
    return made;
  }

  #run(instance: FakeInstance, fate: string | undefined): string {
    instance.shown.status = fate === 'error-state' ? 'Error' : 'Running';
    instance.addressMs = fate === 'never-ready' ? undefined : this.#clock.now() + this.state.times.addressMs;
    return '';
  }

  #instance({ method, path, body, query }: Call, name: string): FakeAnswer {
    const found = this.state.instances.get(name);
    if (!found) return failure(404, 'Instance not found');
    if (path[2] === 'state') return this.#setState(found, String(body['action']));
    if (path[2] === 'console') return { status: 200, text: `console of ${name}\n` };
    if (path[2] === 'files') {
      const text = found.files.get(query.get('path') ?? '');
      return text === undefined ? failure(404, 'Not Found') : { status: 200, text };
    }
    if (method === 'GET') return success(this.#shown(found));
    if (method === 'PATCH') {
      Object.assign(found.shown.config, body['config']);
      return success({});
    }
    if (found.shown.status !== 'Stopped') return failure(400, 'Instance is running');
    return this.#act(found, 'delete', this.state.times.deleteMs, () => {
      this.state.instances.delete(name);
      return '';
    });
  }

  #setState(instance: FakeInstance, action: string): FakeAnswer {
    const { stopMs, startMs } = this.state.times;
    const { shown } = instance;
    if (action === 'start') {
      return this.#act(instance, 'start', startMs, () => {
        const fate = this.#fates.get(shown.name);
        this.#fates.delete(shown.name);
        return this.#run(instance, fate);
      });
    }
    return this.#act(instance, 'stop', stopMs, () => {
      shown.status = 'Stopped';
      if (instance.ephemeral) this.state.instances.delete(shown.name);
      return '';
    });
  }

  /** Begins an operation. It fails inside, at once, if it is of no use or another one is running; a second start or stop joins the first. */
  #act(instance: FakeInstance, action: 'start' | 'stop' | 'delete', ms: number, end: () => string): FakeAnswer {
    const { busy, shown } = instance;
    const begin = (takesMs: number, effect: () => string) =>
      this.#operations.begin(`${action} of ${shown.name}`, takesMs, effect);
    if (action === 'stop' && shown.status === 'Stopped') return begin(0, () => 'The instance is already stopped');
    if (busy === action && action !== 'delete') return begin(ms, () => '');
    if (busy) {
      const reason = `Failed to create instance ${action} operation: Instance is busy running a "${busy}" operation`;
      return begin(0, () => reason);
    }
    if (action === 'start' && shown.status === 'Running') return begin(0, () => 'The instance is already running');
    instance.busy = action;
    return begin(ms, () => {
      instance.busy = undefined;
      return end();
    });
  }

  #shown({ shown, addressMs, address }: FakeInstance): Body {
    if (shown.status !== 'Running') return { ...shown, state: { network: null } };
    const hasAddress = addressMs !== undefined && addressMs <= this.#clock.now();
    const addresses = hasAddress ? [{ family: 'inet', address, scope: 'global' }] : [];
    return { ...shown, state: { network: { eth0: { hwaddr: '00:16:3e:00:00:01', addresses } } } };
  }

  #operation(id: string): FakeAnswer {
    const found = this.state.operations.get(id);
    return found ? success(found) : failure(404, 'Operation not found');
  }
}
