import { beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../test/program.js';
import { RACK_ID, TWO_HOSTS, useWorld } from '../../test/world.js';

const get = useWorld();

beforeAll(() => get().write('rack.yaml', TWO_HOSTS));

describe('nodepool request-list --detail', () => {
  it('shows the last reason of each pool, and why a request waits where a launcher answers', async () => {
    const other = RACK_ID.replace('rack-main', 'cloud-main');
    const reason = { rule: 'label-unavailable', text: 'no label big', timeMs: 0 };
    const id = await get().createRequest(['big'], { declineReasons: { [RACK_ID]: reason, [other]: reason } });
    await get().registerRack(['small']);
    const pool = {
      provider: 'rack',
      pool: 'main',
      launcher: RACK_ID,
      own: true,
      action: 'wait',
      text: 'none is free',
    };
    const url = await listen((_, response) =>
      response.end(JSON.stringify({ request: id, state: 'requested', labels: ['big'], pools: [pool] })),
    );
    await get().write('live.yaml', `webapp: {port: ${new URL(url).port}, listen_address: 127.0.0.1}\n`);

    const live = await get().nodepool('live.yaml', 'request-list', '--detail');
    const dead = await get().nodepool('rack.yaml', 'request-list', '--detail');

    expect(live.stdout).toContain('| waits for pool "rack/main": none is free |');
    expect(live.stdout).toContain('| rack-main, cloud-main: no label big ');
    expect(dead.status).toBe(0);
    expect(dead.stdout).not.toContain('Waits For');
  });
});
