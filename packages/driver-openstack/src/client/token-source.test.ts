import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { NEVER, failureOf, type LogLine, useCloud } from '../../test/support/client.js';
import { RefusedLogins } from './refused-logins.js';

const { cloud, client, renew } = useCloud();

describe('tokens', () => {
  it('are fetched once, however many calls need one', async () => {
    const api = client();

    await Promise.all(Array.from({ length: 20 }, () => api.compute.flavors(NEVER)));

    expect(cloud().count('POST', /^identity/)).toBe(1);
  });

  it('are renewed once when they are refused, for all calls that were', async () => {
    const api = client();
    await api.compute.flavors(NEVER);
    cloud().state.tokens.clear();

    const answers = await Promise.all(Array.from({ length: 10 }, () => api.compute.flavors(NEVER)));

    expect(answers.every((flavors) => flavors.length === 3)).toBe(true);
    expect(cloud().count('POST', /^identity/)).toBe(2);
  });

  it.each([
    [0, 1_000_000, 1],
    [1_200_000, 1_000_000, 1],
    [1_200_000, 3_600_000, 2],
    [3_000_000, 1_000_000, 2],
  ])(
    '%i ms old are renewed first for an upload that may take %i ms, if they would end',
    async (ageMs, forMs, logins) => {
      const clock = new VirtualClock();
      await renew(clock);
      const api = client({ clock });
      const made = await api.image.createImage({ name: 'big', format: 'raw', properties: {} }, NEVER);
      await clock.advance(ageMs);

      const open = () => Readable.from([Buffer.from('data')]);
      await api.image.upload(made?.id ?? '', { open, length: 4, timeoutMs: forMs }, NEVER);

      expect(cloud().count('POST', /^identity/)).toBe(logins);
    },
  );

  it('are renewed before they end', async () => {
    const clock = new VirtualClock();
    await renew(clock);
    cloud().state.knobs.tokenLifeMs = 1_000;
    const api = client({ clock });
    await api.compute.flavors(NEVER);
    await clock.advance(850);

    await api.compute.flavors(NEVER);

    expect(cloud().count('POST', /^identity/)).toBe(2);
    expect(cloud().count('GET', /^compute\/flavors/)).toBe(2); // no call was refused
  });

  it('end in an error that says so when the credentials are wrong, without the password', async () => {
    const lines: LogLine[] = [];
    const api = client({
      entry: { auth: { auth_url: cloud().authUrl, username: 'x', password: 'hunter2', project_name: 'p' } },
      lines,
    });

    const error = await failureOf(api.connect(NEVER));

    expect(error.kind).toBe('unauthorized');
    expect(error.status).toBe(401);
    expect(JSON.stringify([error.message, lines])).not.toContain('hunter2');
  });

  it('are asked for again only after a pause that grows when the credentials were refused', async () => {
    const clock = new VirtualClock();
    await renew(clock);
    const logins = new RefusedLogins();
    const auth = { auth_url: cloud().authUrl, username: 'x', password: 'hunter2', project_name: 'p' };
    const attempts = async () => {
      const api = client({ entry: { auth }, clock, logins });
      await failureOf(api.connect(NEVER));
      return cloud().count('POST', /^identity/);
    };

    const counts = [await attempts(), await attempts()];
    await clock.advance(60_000);
    counts.push(await attempts(), await attempts());
    await clock.advance(60_000);
    counts.push(await attempts());
    await clock.advance(60_000);
    counts.push(await attempts());

    expect(counts).toEqual([1, 1, 2, 2, 2, 3]);
    const error = await failureOf(client({ entry: { auth }, clock, logins }).connect(NEVER));
    expect(error.message).toMatch(
      /401.*no attempt for another 240 s, so that the user is not locked out: correct clouds\.yaml, which is then tried at once$/,
    );
    expect(error.kind).toBe('unauthorized');
  });

  it('are asked for at once with corrected credentials, and by other clouds', async () => {
    const logins = new RefusedLogins();
    const wrong = { auth_url: cloud().authUrl, username: 'nodepool', password: 'hunter2', project_name: 'ci' };
    await failureOf(client({ entry: { auth: wrong }, logins }).connect(NEVER));

    await client({ logins }).connect(NEVER);

    expect(cloud().count('POST', /^identity/)).toBe(2);
  });

  it('need no scope with an application credential', async () => {
    const auth = { auth_url: cloud().authUrl, application_credential_id: 'a', application_credential_secret: 'secret' };
    const api = client({ entry: { auth_type: 'v3applicationcredential', auth } });

    await expect(api.compute.flavors(NEVER)).resolves.toHaveLength(3);
  });
});
