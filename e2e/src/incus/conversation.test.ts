// The answers of a real LXD that the fake one is compared with. NODEPOOL_RECORD=1 writes them down instead.
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from '@nodepool/driver-incus';
import { hold, Lxd, makeTinyImage, strangeIn, type Daemon, type Heard } from '@nodepool/incus';
import { afterAll, beforeAll, expect, it } from 'vitest';

const RECORDED = new URL('../../../tools/incus/src/fixtures/answers.json', import.meta.url);
const isRecording = process.env['NODEPOOL_RECORD'] === '1';

/** LXD looks whether the instance runs before it looks whether it is being stopped, and either refuses a start. */
const EITHER = {
  name: 'start while it stops',
  errors: [
    'The instance is already running',
    'Failed to create instance start operation: Instance is busy running a "stop" operation',
  ],
};

/** How the operation of a turn was refused; the same for both refusals where chance decides. */
function refusalOf({ name, ended }: Heard): string | undefined {
  return name === EITHER.name && EITHER.errors.includes(ended?.error ?? '') ? EITHER.name : ended?.error;
}

let lxd: Lxd;

beforeAll(async () => {
  lxd = await Lxd.start();
  const image = await makeTinyImage('ssh-ed25519 AAAA');
  await lxd.importImage(image, 'tiny');
  await image.remove();
}, 300_000);

afterAll(() => lxd.stop(), 120_000);

it('LXD answers as it did when its answers were recorded', async () => {
  const none = { clientCertificate: undefined, clientKey: undefined, serverCertificate: undefined };
  const transport = createTransport({ address: lxd.address, ...none, trustToken: undefined });
  const end = new AbortController();
  const messages: string[] = [];
  const events = await transport.listen('/1.0/events?type=operation', end.signal);
  const listening = (async () => {
    for await (const message of events) messages.push(message);
  })();
  const daemon: Daemon = {
    call: (method, path, body) => transport.send({ method, path, body, signal: end.signal }),
    pass: pause,
    messages,
  };

  const heard = await hold(daemon);

  end.abort();
  await listening;
  await transport.close();
  if (isRecording) await writeFile(RECORDED, `${JSON.stringify(heard, undefined, 1)}\n`);
  const recorded = JSON.parse(await readFile(RECORDED, 'utf8')) as Heard[];
  const essence = (all: readonly Heard[]) => all.map((turn) => [turn.name, turn.status, turn.error, refusalOf(turn)]);
  expect(essence(heard)).toEqual(essence(recorded));
  const strange = recorded.flatMap(({ name, shape }, i) => [
    ...strangeIn(shape, heard[i]?.shape, name),
    ...strangeIn(heard[i]?.shape, shape, name),
  ]);
  // interfaces and hardware differ from machine to machine
  expect(strange.filter((text) => !/^hardware|^networks/.test(text))).toEqual([]);
}, 300_000);
