import { createServer } from 'node:http';

/** Starts a shed for a number of machines. */
export async function startShed({ machines = 10 } = {}) {
  const shed = new Shed(machines);
  await shed.listen();
  return shed;
}

/** A shed on loopback. Machines run after two list calls and disappear one list call after deletion. */
class Shed {
  machines = new Map();
  #limit;
  #failures = [];
  #faults = [];
  #next = 1;
  #server = createServer((request, response) => this.#serve(request, response));

  constructor(limit) {
    this.#limit = limit;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  listen() {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop() {
    return new Promise((resolve) => this.#server.close(resolve));
  }

  /** Sets the response to the next call. */
  failNext(status, text) {
    this.#failures.push({ status, text });
  }

  /** Makes the next call or the next machine fail. */
  fail(kind) {
    if (kind === 'unavailable') this.failNext(503, 'not now');
    else this.#faults.push(kind);
  }

  /** Switches a machine off for good, or removes it, as a failure or another program does. */
  endMachine(id, how) {
    const machine = this.machines.get(id);
    if (machine && how === 'stopped') machine.status = 'burnt out';
    return machine !== undefined && (how === 'stopped' || this.machines.delete(id));
  }

  async #serve(request, response) {
    let text = '';
    for await (const chunk of request) text += chunk;
    const result = this.#failures.shift() ?? this.#answer(request.method, request.url, text && JSON.parse(text));
    if (result.isLost) {
      response.destroy();
      return;
    }
    response.writeHead(result.status ?? 200, { connection: 'close' });
    response.end(result.text ?? JSON.stringify(result));
  }

  #answer(method, path, body) {
    if (method === 'DELETE') return this.#scrap(path.slice('/machines/'.length));
    if (method === 'POST') return this.#make(body);
    return path === '/limits' ? { machines: this.#limit } : this.#list();
  }

  #list() {
    const shown = [...this.machines.values()].map((machine) => ({ ...machine }));
    for (const machine of this.machines.values()) this.#age(machine);
    return shown;
  }

  #age(machine) {
    if (machine.status === 'scrapped') this.machines.delete(machine.id);
    else if (machine.status === 'off') machine.status = 'on';
  }

  #make({ name, size, tags }) {
    if (this.machines.size >= this.#limit) return { status: 409, text: 'the shed is full' };
    const fault = this.#faults.shift();
    if (fault === 'quota') return { status: 409, text: 'the shed is full' };
    const id = `m${this.#next++}`;
    const status = fault === 'never-ready' ? 'stuck' : 'off';
    this.machines.set(id, { id, name, size, tags, status, address: `fake-${id}` });
    return fault === 'lost-reply' ? { isLost: true } : { id };
  }

  #scrap(id) {
    const machine = this.machines.get(id);
    if (!machine) return { status: 404, text: 'no such machine' };
    machine.status = 'scrapped';
    return {};
  }
}
