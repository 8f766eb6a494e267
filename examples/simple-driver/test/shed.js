import { createServer } from 'node:http';

/** A shed on loopback: machines are on after two looks, and gone one look after they were scrapped. */
export async function startShed({ machines: limit = 10 } = {}) {
  const machines = new Map();
  const failures = [];
  const faults = [];
  let next = 1;
  const answers = {
    'GET /machines': () => {
      const shown = [...machines.values()].map((machine) => ({ ...machine }));
      for (const machine of machines.values()) age(machine);
      return shown;
    },
    'GET /limits': () => ({ machines: limit }),
    'POST /machines': ({ name, size, tags }) => {
      if (machines.size >= limit) return { status: 409, text: 'the shed is full' };
      const fault = faults.shift();
      if (fault === 'quota') return { status: 409, text: 'the shed is full' };
      const id = `m${next++}`;
      const status = fault === 'never-ready' ? 'stuck' : 'off';
      machines.set(id, { id, name, size, tags, status, address: 'fake-machine' });
      return fault === 'lost-reply' ? { isLost: true } : { id };
    },
  };

  function age(machine) {
    if (machine.status === 'scrapped') machines.delete(machine.id);
    else if (machine.status === 'off') machine.status = 'on';
  }

  function answer(method, path, body) {
    const failure = failures.shift();
    if (failure) return failure;
    if (method === 'DELETE') {
      const machine = machines.get(path.slice('/machines/'.length));
      if (!machine) return { status: 404, text: 'no such machine' };
      machine.status = 'scrapped';
      return {};
    }
    return answers[`${method} ${path}`](body);
  }

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const result = answer(request.method, request.url, text && JSON.parse(text));
    if (result.isLost) {
      response.destroy();
      return;
    }
    response.writeHead(result.status ?? 200, { connection: 'close' });
    response.end(result.text ?? JSON.stringify(result));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    machines,
    url: `http://127.0.0.1:${server.address().port}`,
    /** The next call is answered like this. */
    failNext: (status, text) => failures.push({ status, text }),
    /** Lets something go wrong: with the next call, or with the next machine. */
    fail: (kind) => {
      if (kind === 'unavailable') failures.push({ status: 503, text: 'not now' });
      else faults.push(kind);
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
