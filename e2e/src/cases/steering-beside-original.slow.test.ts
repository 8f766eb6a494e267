import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { killOriginal, startOriginal } from '../original-launcher.js';
import { useElastic } from '../use-harness.js';

const REQUESTS = 60;
/** A quarter of the launches fail, so 12 failures in a row practically do not happen. */
const LAUNCH_RETRIES = 12;

const get = useElastic();

beforeAll(() => ensureDebianPackages(['python3-kazoo']));

it.each([
  ['declines them all', false],
  ['neither takes nor declines any', true],
])('a cloud with failing launches serves all requests beside a pool of the original that %s', async (_what, isIdle) => {
  const hosts = get().zookeeper.connectString;
  const original = await startOriginal({ hosts, name: 'original', labels: ['small'], most: 0, isIdle });
  const zuul = await get().newClient();
  const setup = oneProvider({}, { cloudSettings: { failures: { 'error-state': 0.25 } } });
  const [provider] = setup.providers;
  if (provider) provider.more = { 'launch-retries': LAUNCH_RETRIES };
  await get().launch(setup);
  const states: Record<string, number> = {};

  const ids = await Promise.all(Array.from({ length: REQUESTS }, () => zuul.submit(['small'])));
  const answers = ids.map((id) => zuul.wait(id).catch(() => ({ state: 'waiting' })));
  for (const { state } of await Promise.all(answers)) states[state] = (states[state] ?? 0) + 1;
  for (const id of ids) {
    const held = await zuul.accept(id);
    await zuul.use(held);
    await zuul.giveBack(held);
  }
  await killOriginal(original);

  expect(states).toEqual({ fulfilled: REQUESTS });
});
