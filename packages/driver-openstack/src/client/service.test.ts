import { describe, expect, it } from 'vitest';
import { NEVER, addServers, failureOf, useCloud } from '../../test/support/client.js';

const { cloud, client } = useCloud();

describe('lists', () => {
  it('are followed page by page', async () => {
    addServers(cloud(), 57);
    for (let i = 0; i < 60; i++) cloud().state.addImage(`image-${i}`);
    cloud().state.knobs.pageSize = 10;
    const api = client();

    const [servers, images] = await Promise.all([api.compute.servers(NEVER), api.image.images({}, NEVER)]);

    expect(new Set(servers.map(({ id }) => id)).size).toBe(57);
    expect(images).toHaveLength(61);
    expect(cloud().count('GET', /^compute\/servers\/detail/)).toBe(6);
  });

  it('whose markers repeat after some pages are an error', async () => {
    const pages = ['a', 'b', 'a', 'b'].map((marker) => ({
      images: [{ id: marker, name: marker }],
      next: `/v2/images?marker=${marker}`,
    }));
    for (const body of pages) {
      const headers = { 'content-type': 'application/json' };
      cloud().faults.push({ path: /v2\/images/, times: 1, status: 200, headers, body: JSON.stringify(body) });
    }

    const error = await failureOf(client().image.images({}, NEVER));

    expect(error.message).toContain('circles (marker a)');
  });

  it('that go round in circles are an error', async () => {
    const next = { servers: [{ id: 'a' }], servers_links: [{ rel: 'next', href: 'http://x/y?marker=a' }] };
    cloud().faults.push({
      path: /servers\/detail/,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(next),
    });

    const error = await failureOf(client().compute.servers(NEVER));

    expect(error.message).toContain('circles');
  });
});
