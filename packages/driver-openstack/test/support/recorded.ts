import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OpenStackClient, type Transport } from '../../src/client/index.js';
import { keepLines, settingsOf } from './client.js';

/** A recorded answer of a real service. */
export function recorded(name: string): unknown {
  return JSON.parse(readFileSync(fileURLToPath(new URL(`../fixtures/recorded/${name}.json`, import.meta.url)), 'utf8'));
}

/** A client whose every call is answered with a recording. */
export function clientOf(name: string): OpenStackClient {
  const transport: Transport = {
    send: ({ url }) => {
      const isVersion = /\/(v2\.1|v3)?\/?$/.test(new URL(url).pathname);
      const content = isVersion ? recorded('compute-version') : recorded(name);
      return Promise.resolve({
        status: 200,
        headers: { 'content-type': 'application/json' },
        text: JSON.stringify(content),
      });
    },
    close: () => Promise.resolve(),
  };
  const overrides = { compute_endpoint_override: 'http://x/v2.1', network_endpoint_override: 'http://x/v2.0' };
  const more = { image_endpoint_override: 'http://x/v2', volume_endpoint_override: 'http://x/v3/p' };
  return new OpenStackClient({
    settings: settingsOf({ auth_type: 'none', ...overrides, ...more }),
    transport,
    logger: keepLines([]),
    name: 'x',
    random: () => 0,
    clock: { now: () => 0, setTimer: () => () => undefined },
  });
}
