import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { logs, newGate, useBuilds, WAIT } from '../../test/support/builds.js';

const start = useBuilds();

describe('a build in progress', () => {
  it('can be read in its log, with secrets masked', async () => {
    const gate = newGate();
    const SAY = 'password is pw12, mirror is http://user@mirror';
    const of = await start({ SAY, MY_PASSWORD: 'pw12', MIRROR: 'http://user@mirror', WAIT_FOR: gate });
    await of.builder();

    // The words of SAY are the value of a variable themselves.
    await vi.waitFor(async () => expect((await logs(of)).join()).toMatch(/^\*{8}$/m), WAIT);
    await writeFile(gate, '');
    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    expect((await logs(of)).join()).not.toMatch(/pw12|mirror/);
  });

  it("masks multi-line keys and the builder's own secrets", async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg/kqhkiG9w0BA\n9w0==x\n-----END PRIVATE KEY-----\n';
    const own = {
      ...process.env,
      OS_PASSWORD: "os p'wd",
      GITHUB_TOKEN: 'ghp_1234',
      http_proxy: 'http://me:pr0xy@p:3128',
    };
    const of = await start({ SHOW: '1', DEPLOY: key });
    await of.builder({ env: own });

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    const log = (await logs(of)).join();
    expect(log).toMatch(/^\+ : '?\*{8}/m);
    expect(log).not.toMatch(/MIIE|9w0|PRIVATE|pr0xy/);
    expect(log).not.toMatch(/OS_PASSWORD|os p|GITHUB_TOKEN|ghp_/);
    expect(log).toContain('http://me:********@p:3128');
  });

  it('hides a secret that a long line shows in two parts', async () => {
    const of = await start({ LONG: '1', DEPLOY: 'a-secret-word' });
    await of.builder();

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    const log = (await logs(of)).join();
    expect(log.length).toBeGreaterThan(65_531);
    expect(log.replaceAll('********', '')).toMatch(/^x*$/m);
    expect(log).not.toMatch(/secret|a-s|word/);
  });

  it('creates image files with the usual umask and hides them from other users', async () => {
    const of = await start({ SHOW: '1', MANIFEST: '1' });
    const before = process.umask(0o027);
    onTestFinished(() => void process.umask(before));
    await of.builder();

    await vi.waitFor(() => expect(of.lastBuild('debian')?.state).toBe('ready'), WAIT);
    expect((await logs(of)).join()).toMatch(/^umask 0022$/m);
    const paths = [join(of.dir, 'logs'), of.imagesDir];
    const entries = await Promise.all(paths.map(async (path) => (await readdir(path)).map((name) => join(path, name))));
    const ofBuild = entries.flat().filter((path) => /debian-[0-9a-f]{32}/.test(path));
    expect(ofBuild).toHaveLength(5);
    for (const path of ofBuild) expect((await stat(path)).mode & 0o027, path).toBe(0);
  });
});
