// The fake is only worth something if it sees mistakes: of the driver in requests, and of its own in answers. Here each
// exchange that a run of the driver has with it gets mistakes planted, one at a time, and all of them have to be seen.
import { expect, it } from 'vitest';
import { ExchangeChecker, type Exchange } from '@nodepool/fake-compute';
import { COMPUTE_V1 } from '../src/index.js';
import { World } from './world.js';

type Value = unknown;

/** A mistake somewhere in a message. */
interface Mutation {
  readonly what: string;
  readonly message: Value;
}

const checker = ExchangeChecker.of(COMPUTE_V1);
/** Maps whose keys are free: labels, and zones in lists of all zones. */
const FREE_MAPS = ['labels', 'items'];

/** Every exchange of a life with everything in it. */
async function recordExchanges(): Promise<Exchange[]> {
  const quotas = { INSTANCES: 10, CPUS: 100, CPUS_ALL_REGIONS: 100, IN_USE_ADDRESSES: 10, DISKS_TOTAL_GB: 500 };
  const label = {
    spot: true,
    'max-run-duration': 3600,
    'network-tags': ['ci'],
    'service-account': 'ci@test-project.iam.gserviceaccount.com',
    'user-data': '#cloud-config',
    subnetwork: 'ci',
    'instance-overrides': { guestAccelerators: [{ acceleratorType: 'nvidia-t4', acceleratorCount: 1 }] },
  };
  const world = await World.start({ cloud: { quotas }, label });
  const seen: Exchange[] = [];
  world.fake.onExchange = (exchange) => seen.push(exchange);
  world.provider.quota?.invalidateQuotaCache();
  const first = await world.launch();
  world.fake.failures.queue('capacity');
  await world.launch();
  await world.findLeaks();
  await world.cleanUp(first.node);
  await world.end();
  return seen;
}

/** Messages with one mistake each, at every place. */
function* mutations(value: Value, path = ''): Generator<Mutation> {
  if (Array.isArray(value)) {
    yield { what: `${path}: no list`, message: 'x' };
    const items: unknown[] = value;
    for (const [index, item] of items.entries()) {
      for (const { what, message } of mutations(item, `${path}[${index}]`)) {
        yield { what, message: items.map((one, at) => (at === index ? message : one)) };
      }
    }
  } else if (typeof value === 'object' && value !== null) {
    yield* mutationsOfMap(value as Record<string, Value>, path);
  } else {
    yield { what: `${path}: another type`, message: typeof value === 'string' ? 17 : String(value) };
    yield { what: `${path}: a map`, message: {} };
  }
}

function* mutationsOfMap(map: Record<string, Value>, path: string): Generator<Mutation> {
  if (!FREE_MAPS.some((name) => path.endsWith(`.${name}`))) {
    yield { what: `${path}: an unknown key`, message: { ...map, nodepool: 'x' } };
    for (const key of Object.keys(map)) {
      const { [key]: moved, ...rest } = map;
      yield { what: `${path}.${key}: misspelt`, message: { ...rest, [`${key}x`]: moved } };
    }
  }
  for (const [key, value] of Object.entries(map)) {
    for (const { what, message } of mutations(value, `${path}.${key}`)) {
      yield { what, message: { ...map, [key]: message } };
    }
  }
}

/** Values that are words of an enumeration. */
function* wrongWords(value: Value, path = ''): Generator<Mutation> {
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (const [index, item] of items.entries()) {
      for (const { what, message } of wrongWords(item, `${path}[${index}]`)) {
        yield { what, message: items.map((one, at) => (at === index ? message : one)) };
      }
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      for (const { what, message } of wrongWords(item, `${path}.${key}`))
        yield { what, message: { ...value, [key]: message } };
    }
  } else if (
    typeof value === 'string' &&
    /^(ONE_TO_ONE_NAT|SPOT|TERMINATE|DELETE|RUNNING|DONE|INSTANCES|CPUS)$/.test(value)
  ) {
    yield { what: `${path}: no word of ${value}'s kind`, message: `${value}_X` };
  }
}

/** A check that throws. */
function sees(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}

it('sees each mistake in requests and answers', async () => {
  const exchanges = await recordExchanges();
  const unseen: string[] = [];
  const counts = { requests: 0, parameters: 0, answers: 0 };
  const test = (kind: keyof typeof counts, what: string, check: () => void) => {
    counts[kind]++;
    if (!sees(check)) unseen.push(`${kind}: ${what}`);
  };

  for (const { request, checked, status, body } of exchanges) {
    const { method } = checked;
    expect(sees(() => checker.checkRequest(request))).toBe(false);
    expect(sees(() => checker.checkResponse(method, status, body))).toBe(false);
    const asked: Value = request.body === '' ? undefined : JSON.parse(request.body);
    for (const { what, message } of asked === undefined ? [] : [...mutations(asked), ...wrongWords(asked)]) {
      test('requests', `${method.name}${what}`, () =>
        checker.checkRequest({ ...request, body: JSON.stringify(message) }),
      );
    }
    for (const [name] of request.query) {
      const query = new URLSearchParams(request.query);
      query.set(`${name}x`, query.get(name) ?? '');
      test('parameters', `${method.name} ${name}`, () => checker.checkRequest({ ...request, query }));
    }
    test('parameters', `${method.name}: path`, () => checker.checkRequest({ ...request, path: `${request.path}/x` }));
    test('parameters', `${method.name}: verb`, () => checker.checkRequest({ ...request, verb: 'PUT' }));
    for (const { what, message } of [...mutations(body), ...wrongWords(body)]) {
      test('answers', `${method.name}${what}`, () => checker.checkResponse(method, status, message));
    }
  }

  expect(unseen).toEqual([]);
  expect(new Set(exchanges.map(({ checked }) => checked.method.name)).size).toBeGreaterThan(8);
  expect(counts.requests).toBeGreaterThan(150);
  expect(counts.parameters).toBeGreaterThan(50);
  expect(counts.answers).toBeGreaterThan(300);
});
