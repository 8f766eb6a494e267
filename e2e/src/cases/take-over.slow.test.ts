import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 4, keyTypes: ['ed25519'] } });

it('a launcher that takes over serves at the same address, and no request fails', async () => {
  const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'));
  const first = await get().launch(setup, { name: 'one' });
  const zuul = await get().newClient();
  let isOver = false;
  let served = 0;
  const jobs = (async () => {
    while (!isOver) {
      await zuul.giveBack(await zuul.getNodes(['small']));
      served += 1;
      await delay(5);
    }
  })();

  const second = await get().launch(setup, { name: 'two', takesOver: first });
  await second.whenLogged(/Service started/);
  isOver = true;
  await jobs;

  expect([first.isRunning, first.exitCode]).toEqual([false, 0]);
  expect(second.webPort).toBe(first.webPort);
  expect(served).toBeGreaterThan(0);
});

it('a take-over of another process is refused, and nothing is disturbed', async () => {
  const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'));
  const first = await get().launch(setup, { name: 'one' });
  const wrong = { pid: process.pid, webPort: first.webPort, configFile: first.configFile } as typeof first;

  const second = await get().launch(setup, { name: 'two', takesOver: wrong });

  await second.whenLogged(new RegExp(`process ${process.pid} is not taken over: it does not run nodepool-launcher`));
  const zuul = await get().newClient();
  await zuul.giveBack(await zuul.getNodes(['small']));
  expect(first.isRunning).toBe(true);
});
