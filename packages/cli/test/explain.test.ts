import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RACK_ID, useInstallation } from './installation.js';
import { nodepool } from './program.js';
import { TWO_HOSTS } from './rack-config.js';

const get = useInstallation();

beforeAll(() => get().write('rack.yaml', TWO_HOSTS));

/** Starts a launcher's web server that gives this answer to everything, until the test is over. @returns its URL */
async function listen(status: number, body: string): Promise<string> {
  const web = createServer((_request, response) => response.writeHead(status).end(body));
  onTestFinished(() => void web.close());
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
}

describe('nodepool explain', () => {
  it('computes why a request waits when no launcher answers, and says so', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode({ state: 'in-use' });
    await get().createRequest(['small']);
    const id = await get().createRequest(['small']);

    const { status, stdout, stderr } = await get().nodepool('rack.yaml', 'explain', id);

    expect(status).toBe(0);
    expect(stderr).toContain('No launcher answered');
    expect(stdout.split('\n')[0]).toBe(
      `Request ${id} waits for pool "rack/main": behind another request; the first that wants the same waits: 1 of "small" needed, 0 free after requests ahead`,
    );
  });

  it('says what would become of labels that no request has asked for', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();

    const one = JSON.parse(
      (await get().nodepool('rack.yaml', 'explain', '--label', 'small', '--json')).stdout,
    ) as object;
    const two = await get().nodepool('rack.yaml', 'explain', '--label', 'small', '--label', 'small');

    expect(one).toMatchObject({ source: 'offline', request: null, pools: [{ action: 'accept', provider: 'rack' }] });
    expect(two.stdout).toContain('would fail: no pool can serve it (it would exceed quota: 2 of "small" asked for');
  });

  it('names configured pools that no launcher serves', async () => {
    const id = await get().createRequest(['small']);

    const { stdout } = await get().nodepool('rack.yaml', 'explain', id);

    expect(stdout).toContain('it is configured, but no launcher has registered it');
  });

  it('asks the named launchers and merges what each says of its own pools', async () => {
    const pool = { provider: 'rack', pool: 'main', launcher: RACK_ID, rule: 'label-quota', text: 'none is free' };
    const body = {
      request: '200-1',
      state: 'requested',
      labels: ['small'],
      pools: [{ ...pool, own: true, action: 'wait' }],
    };
    const own = await listen(200, JSON.stringify(body));

    const { status, stdout } = await nodepool('explain', '200-1', '--url', own, '--url', 'http://127.0.0.1:1');

    expect(status).toBe(0);
    expect(stdout).toContain('Request 200-1 waits for pool "rack/main": none is free');
  });

  it('reports a request no launcher knows, with status 1 when strict', async () => {
    const url = await listen(404, '{"error": "unknown-request"}');

    const lenient = await nodepool('explain', '200-9', '--url', url);
    const strict = await nodepool('explain', '200-9', '--url', url, '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: 'Request id 200-9 not found\n' });
    expect(strict.status).toBe(1);
  });

  it('says that a launcher is too old to explain', async () => {
    const url = await listen(404, 'Not found');

    const { status, stderr } = await nodepool('explain', '200-9', '--url', url);

    expect(status).toBe(1);
    expect(stderr).toContain('it has no /explain: an older launcher, or another service');
  });

  it.each([[['explain']], [['explain', '200-1', '--label', 'a']], [['explain', '200-1', '--url', 'nl01']]])(
    'does not understand %j',
    async (argv) => {
      expect((await nodepool(...argv)).status).toBe(2);
    },
  );
});

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
    const url = await listen(200, JSON.stringify({ request: id, state: 'requested', labels: ['big'], pools: [pool] }));
    await get().write('live.yaml', `webapp: {port: ${new URL(url).port}, listen_address: 127.0.0.1}\n`);

    const live = await get().nodepool('live.yaml', 'request-list', '--detail');
    const dead = await get().nodepool('rack.yaml', 'request-list', '--detail');

    expect(live.stdout).toContain('| waits for pool "rack/main": none is free |');
    expect(live.stdout).toContain('| rack-main, cloud-main: no label big ');
    expect(dead.status).toBe(0);
    expect(dead.stdout).not.toContain('Waits For');
  });
});
