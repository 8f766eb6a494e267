import { readFile } from 'node:fs/promises';
import { hold, strangeIn, type Daemon, type Heard } from '@nodepool/incus';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { FakeIncus } from './fake/fake-incus.js';

const RECORDED = new URL('../../../tools/incus/src/fixtures/answers.json', import.meta.url);

/** Holds the conversation with the fake daemon. */
async function answersOfFake(): Promise<Heard[]> {
  const clock = new VirtualClock();
  const fake = new FakeIncus(clock);
  fake.addImage('tiny');
  const messages: string[] = [];
  fake.subscribe((message) => messages.push(message));
  const daemon: Daemon = {
    call: (method, path, body) => Promise.resolve(fake.handle(method, path, Buffer.from(body ?? ''))),
    pass: async (ms) => {
      await clock.advance(ms);
      const file = '/etc/ssh/ssh_host_ed25519_key.pub';
      for (const instance of fake.state.instances.values()) instance.files.set(file, 'ssh-ed25519 AAAA\n');
    },
    messages,
  };
  return hold(daemon);
}

it('the fake daemon answers as LXD did when its answers were recorded', async () => {
  const recorded = JSON.parse(await readFile(RECORDED, 'utf8')) as Heard[];
  const heard = await answersOfFake();

  const essence = (all: readonly Heard[]) =>
    all.map(({ name, status, error, ended }) => [name, status, error, ended?.error]);
  expect(essence(heard)).toEqual(essence(recorded));
  const strange = heard.flatMap(({ name, shape, ended }, i) => [
    ...strangeIn(shape, recorded[i]?.shape, name),
    ...(ended ? strangeIn(ended.shape, recorded[i]?.ended?.shape, `${name}, ended`) : []),
  ]);
  // the daemon may have told of progress until then
  expect(strange.filter((text) => !text.includes('ended.metadata: "null"'))).toEqual([]);
});

it('another type or an unknown key is noticed', () => {
  const known = { config: { a: 'string' }, list: [{ name: 'string' }] };

  expect(strangeIn({ config: { a: 'string' } }, known, 'x')).toEqual([]);
  expect(strangeIn({ config: { a: 'number' }, list: [{ size: 'number' }] }, known, 'x')).toEqual([
    'x.config.a: "number", expected "string"',
    'x.list.0.size is unknown',
  ]);
});
