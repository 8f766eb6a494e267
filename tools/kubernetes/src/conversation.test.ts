import { readFile } from 'node:fs/promises';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { ApiAccess } from './api.js';
import { CONVERSATION, hold } from './conversation.js';
import { FAKE_TOKEN, FakeKubernetes } from './fake/server.js';

const RECORDED = new URL('./fixtures/answers.json', import.meta.url);
let fake: FakeKubernetes | undefined;

afterEach(() => fake?.stop());

it('the fake server answers as kube-apiserver did when this was recorded', async () => {
  fake = await FakeKubernetes.start({ clock: systemClock, startMs: 1_000_000, deleteMs: 300, accountMs: 50 });
  const recorded = JSON.parse(await readFile(RECORDED, 'utf8')) as { name: string; answer: unknown }[];
  fake.strangers.add('stranger');
  const as = (token: string) => new ApiAccess(fake?.url ?? '', { token });
  const access = { admin: as(FAKE_TOKEN), stranger: as('stranger'), unknown: as('unknown') };

  const heard = await hold(access, (ms) => new Promise((resolve) => setTimeout(resolve, ms)));

  const named = CONVERSATION.map(({ name }, index) => ({
    name,
    answer: JSON.parse(JSON.stringify(heard[index])) as unknown,
  }));
  expect(named).toEqual(recorded);
  await Promise.all(Object.values(access).map((one) => one.close()));
});
