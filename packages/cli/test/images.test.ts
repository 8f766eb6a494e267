import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  buildPath,
  componentCreatePath,
  componentsPath,
  encodeComponent,
  encodeBuild,
  encodeUpload,
  imageBuildRequestPath,
  imagePausePath,
  newBuild,
  newComponent,
  newUpload,
  uploadsPath,
  uploadPath,
  type BuildFields,
  type UploadFields,
} from '@nodepool/zk-protocol';
import { newCanary, withCanary } from '@nodepool/core/service';
import { useInstallation } from './installation.js';

const get = useInstallation();
const BUILD = '5c14c8a6227f468a8c6d7b5734de7a92';

beforeAll(() =>
  get().write(
    'nodepool.yaml',
    `labels: []
build-log-dir: ${get().directory}
diskimages:
  - name: debian-12
    elements: [vm]
  - name: stopped
    pause: true
  - name: base
    abstract: true
`,
  ),
);

const call = (...argv: string[]) => get().nodepool('nodepool.yaml', ...argv);

async function createBuild(fields: BuildFields = {}, id = BUILD): Promise<void> {
  const { zk } = get();
  const build = newBuild({ image: 'debian-12', id }, { state: 'ready', formats: ['qcow2'], ...fields }, Date.now());
  await zk.ensurePath(buildPath('debian-12', id));
  await zk.setData(buildPath('debian-12', id), encodeBuild(build));
}

async function createUpload(fields: UploadFields = {}): Promise<void> {
  const { zk } = get();
  const key = { image: 'debian-12', buildId: BUILD, provider: 'sky', id: '0000000000' };
  const upload = newUpload(
    key,
    { state: 'ready', externalId: 'x1', externalName: 'debian-12-1', ...fields },
    Date.now(),
  );
  await zk.ensurePath(uploadsPath('debian-12', BUILD, 'sky'));
  await zk.create(uploadPath('debian-12', BUILD, 'sky', '0000000000'), encodeUpload(upload));
}

describe('listings of images', () => {
  it.each([
    [
      'image-list',
      '| Build ID | Upload ID | Provider | Image | Provider Image Name | Provider Image ID | State | Age |',
    ],
    ['dib-image-list', '| ID | Image | Builder | Formats | State | Age |'],
    ['image-status', '| Image | Paused | Build Request | Build Request Age |'],
  ])('%s is an empty table when there is nothing', async (command, header) => {
    const { status, stdout } = await call(command);

    expect(status).toBe(0);
    expect(stdout.split('\n')).toHaveLength(5);
    expect(stdout.split('\n')[1]).toBe(header);
  });

  it('show builds, uploads and what is asked for', async () => {
    await createBuild({ builder: 'nb01' });
    await createUpload();
    await get().zk.create(imageBuildRequestPath('debian-12'));

    const builds = JSON.parse((await call('dib-image-list', '--json')).stdout) as unknown;
    const uploads = await call('image-list', '--fields', 'upload_id,provider,external_id,state', '--no-headers');
    const status = await call('image-status', '--fields', 'image,paused,build_request', '--no-headers');

    expect(builds).toMatchObject([{ id: `debian-12-${BUILD}`, builder: 'nb01', formats: ['qcow2'], error: null }]);
    expect(uploads.stdout).toBe('0000000000  sky  x1  ready\n');
    expect(status.stdout).toBe('debian-12  False  pending\n');
  });

  it('show the builds of a paused image as paused', async () => {
    await createBuild();
    await get().zk.create(imagePausePath('debian-12'));

    expect((await call('dib-image-list', '--fields', 'state', '--no-headers')).stdout).toBe('paused\n');
  });
});

describe('nodepool image-rollback', () => {
  const OLD = '0d14c8a6227f468a8c6d7b5734de7a92';

  async function createOlder(): Promise<void> {
    const { zk } = get();
    const hourAgo = Date.now() - 3_600_000;
    const build = newBuild({ image: 'debian-12', id: OLD }, { state: 'ready', formats: ['qcow2'] }, hourAgo);
    await zk.ensurePath(buildPath('debian-12', OLD));
    await zk.setData(buildPath('debian-12', OLD), encodeBuild(build));
  }

  async function stateOf(path: string): Promise<unknown> {
    const { data } = await get().zk.getData(path);
    return (JSON.parse(data.toString()) as { state: unknown }).state;
  }

  it('refuses where nothing would be left', async () => {
    expect(await call('image-rollback', 'debian-12')).toMatchObject({
      stderr: expect.stringContaining('has no build that is ready') as string,
    });
    await createBuild();
    await createUpload();
    expect((await call('image-rollback', 'debian-12')).stderr).toContain('there is nothing to go back to');
    await createOlder();

    const { status, stderr } = await call('image-rollback', 'debian-12');

    expect(status).not.toBe(0);
    expect(stderr).toContain(`Build ${OLD} of debian-12 is not ready in sky: there would be no image there`);
    expect(await get().zk.exists(imagePausePath('debian-12'))).toBeUndefined();
    expect(await stateOf(buildPath('debian-12', BUILD))).toBe('ready');
  });

  it('takes build and uploads out of service, and pauses the image', async () => {
    const { zk } = get();
    await createOlder();
    const key = { image: 'debian-12', buildId: OLD, provider: 'sky', id: '0000000000' };
    await zk.ensurePath(uploadsPath('debian-12', OLD, 'sky'));
    await zk.create(
      uploadPath('debian-12', OLD, 'sky', '0000000000'),
      encodeUpload(newUpload(key, { state: 'ready', externalId: 'x0', externalName: 'debian-12-0' }, Date.now())),
    );
    await createBuild();
    await createUpload();

    const { status, stdout } = await call('image-rollback', 'debian-12');

    expect(status).toBe(0);
    expect(stdout).toContain(`Build ${OLD} of debian-12 serves; build ${BUILD} is being removed`);
    expect(await zk.exists(imagePausePath('debian-12'))).toBeDefined();
    expect(await stateOf(buildPath('debian-12', BUILD))).toBe('deleting');
    expect(await stateOf(uploadPath('debian-12', BUILD, 'sky', '0000000000'))).toBe('deleting');
    expect((await call('image-status')).stderr).toContain(
      `debian-12: paused: build ${BUILD} was withdrawn with "nodepool image-rollback"\n`,
    );
    expect(await stateOf(buildPath('debian-12', OLD))).toBe('ready');
    expect(await stateOf(uploadPath('debian-12', OLD, 'sky', '0000000000'))).toBe('ready');
  });
});

describe('a build that is tried out', () => {
  async function createTriedBuild(more: object = {}): Promise<void> {
    const canary = newCanary({ launches: 5, stepMs: 3_600_000 }, Date.now());
    const build = newBuild({ image: 'debian-12', id: BUILD }, { state: 'ready', formats: ['qcow2'] }, Date.now());
    const stored = withCanary({ ...build, raw: { ...build.raw, ...more } }, canary);
    await get().zk.ensurePath(buildPath('debian-12', BUILD));
    await get().zk.setData(buildPath('debian-12', BUILD), encodeBuild(stored));
  }

  it('is shown with what is known of it', async () => {
    await createTriedBuild();
    const note =
      'is tried out with one launch at a time; 0 of its launches succeeded and 0 failed, of the build before it 0 and 0';

    const list = await call('dib-image-list', '--fields', 'canary', '--no-headers');
    const status = await call('image-status');
    const json = await call('image-status', '--json');

    expect(list.stdout).toBe(`${note}\n`);
    expect(status.stderr).toContain(`debian-12: build ${BUILD} ${note}\n`);
    expect(JSON.parse(json.stdout)).toMatchObject([{ image: 'debian-12', notes: [`build ${BUILD} ${note}`] }]);
  });

  it('is put into service by image-promote, as often as one likes', async () => {
    await createTriedBuild({ theirs: [1] });

    const promoted = await call('image-promote', 'debian-12');
    const again = await call('image-promote', 'debian-12');

    const text = `Build ${BUILD} of debian-12 is in service`;
    expect(promoted).toEqual({ status: 0, stdout: `${text}: all launches get it from now on\n`, stderr: '' });
    expect(again).toEqual({ status: 0, stdout: `${text} already\n`, stderr: '' });
    const { data } = await get().zk.getData(buildPath('debian-12', BUILD));
    const record = JSON.parse(data.toString()) as object;
    expect(record).toMatchObject({ state: 'ready', formats: 'qcow2', theirs: [1] });
    expect(record).not.toHaveProperty('canary');
  });

  it('is not promoted before it is ready', async () => {
    await createBuild({ state: 'building' });

    expect(await call('image-promote', 'debian-12')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'nodepool: Image debian-12 has no build that is ready\n',
    });
  });
});

describe('nodepool image-pause and image-unpause', () => {
  it('pause and resume, as often as one likes, also an unknown image', async () => {
    for (const times of [1, 2]) expect([times, (await call('image-pause', 'new-one')).status]).toEqual([times, 0]);
    expect(await get().zk.exists(imagePausePath('new-one'))).toBeDefined();

    for (const times of [1, 2]) expect([times, (await call('image-unpause', 'new-one')).status]).toEqual([times, 0]);
    expect(await get().zk.exists(imagePausePath('new-one'))).toBeUndefined();
  });

  it('refuse a name that cannot be one', async () => {
    expect(await call('image-pause', 'a/b')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"a/b"') as string,
    });
  });
});

describe('nodepool dib-image-delete', () => {
  it('marks the build of an image with dashes in its name', async () => {
    await createBuild({}, '0000000007');

    expect(await call('dib-image-delete', 'debian-12-0000000007')).toEqual({ status: 0, stdout: '', stderr: '' });

    const list = await call('dib-image-list', '--fields', 'id,state', '--no-headers');
    expect(list.stdout).toBe('debian-12-0000000007  deleting\n');
  });

  it('leaves a build in progress, and says so when there is none', async () => {
    await createBuild({ state: 'building' });

    const busy = await call('dib-image-delete', `debian-12-${BUILD}`);
    const gone = await call('dib-image-delete', 'debian-12-9');

    expect(busy).toMatchObject({ status: 0, stdout: 'Cannot delete a build in progress\n' });
    expect(gone).toMatchObject({ status: 0, stdout: 'Build debian-12-9 not found\n' });
    expect((await call('dib-image-list', '--fields', 'state', '--no-headers')).stdout).toBe('building\n');
    expect((await call('dib-image-delete', 'debian-12-9', '--strict')).status).toBe(1);
  });

  it.each(['debian', 'debian-'])('refuses %j, which is no id of a build, with status 1', async (id) => {
    const { status, stderr } = await call('dib-image-delete', id);

    expect(status).toBe(1);
    expect(stderr).toBe(`nodepool: "${id}" is no id of a build: those are IMAGE-BUILD, as dib-image-list shows them\n`);
  });

  it('keeps members of others', async () => {
    await createBuild();
    const body = JSON.stringify({ state: 'ready', state_time: 1.5, builder: 'nb', formats: 'raw', theirs: { a: [1] } });
    await get().zk.setData(buildPath('debian-12', BUILD), body);

    await call('dib-image-delete', `debian-12-${BUILD}`);

    const { data } = await get().zk.getData(buildPath('debian-12', BUILD));
    expect(JSON.parse(data.toString())).toMatchObject({ state: 'deleting', builder: 'nb', theirs: { a: [1] } });
  });
});

describe('nodepool image-delete', () => {
  const remove = (uploadId: string, ...more: string[]) =>
    call(
      'image-delete',
      '--provider',
      'sky',
      '--image',
      'debian-12',
      '--build-id',
      BUILD,
      '--upload-id',
      uploadId,
      ...more,
    );
  const states = async () => (await call('image-list', '--fields', 'state', '--no-headers')).stdout;

  it('marks the upload', async () => {
    await createUpload();

    expect(await remove('0000000000')).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(await states()).toBe('deleting\n');
  });

  it('leaves an upload in progress, and says so when there is none', async () => {
    await createUpload({ state: 'uploading' });

    expect((await remove('0000000000')).stdout).toBe('Cannot delete because image upload in progress\n');
    expect((await remove('0000000009')).stdout).toBe('Image upload not found\n');
    expect(await states()).toBe('uploading\n');
  });

  it('needs all four of its options', async () => {
    expect(await call('image-delete', '--provider', 'sky')).toMatchObject({ status: 2 });
  });
});

describe('nodepool image-build', () => {
  const requested = (image: string) => get().zk.exists(imageBuildRequestPath(image));

  it('asks for a build, once', async () => {
    expect(await call('image-build', 'debian-12')).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(await call('image-build', 'debian-12')).toMatchObject({ status: 0 });

    expect(await requested('debian-12')).toBeDefined();
  });

  it.each([
    ['nothing', 'Trying to build a non disk-image-builder image: nothing'],
    ['stopped', 'Skipping build request for image stopped; paused'],
    ['base', 'base is abstract'],
  ])('does not ask for %s', async (image, message) => {
    const { status, stderr } = await call('image-build', image);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await requested(image)).toBeUndefined();
  });

  it('says that a paused image waits', async () => {
    await call('image-pause', 'debian-12');

    expect((await call('image-build', 'debian-12')).stderr).toContain('nodepool image-unpause debian-12');
  });

  it('--follow shows the log of the build, and ends with 0 when it is ready', async () => {
    const log = get().file(`debian-12-${BUILD}.log`);
    const following = call('image-build', 'debian-12', '--follow');
    await expect.poll(() => requested('debian-12')).toBeDefined();
    await createBuild({ state: 'building', builder: 'nb01' });
    await writeFile(log, 'first line\n');
    await expect.poll(() => readFile(log, 'utf8')).toBe('first line\n');
    await appendFile(log, 'Exit code: 0\n');
    await createBuild({ state: 'ready', builder: 'nb01' });

    const { status, stdout, stderr } = await following;

    expect([status, stdout]).toEqual([0, 'first line\nExit code: 0\n']);
    expect(stderr).toMatch(/no builder is registered.*\n.*has begun on nb01\n.*is ready after 00:00:00:\d\d: qcow2\n/);
    expect((await call('image-log', 'debian-12')).stdout).toBe(stdout);
    expect((await call('image-log', `debian-12-${BUILD}`)).stdout).toBe(stdout);
  });

  it('--follow leaves the request when it is interrupted', async () => {
    const following = call('image-build', 'debian-12', '--follow');
    await expect.poll(() => requested('debian-12')).toBeDefined();
    process.emit('SIGINT', 'SIGINT');

    expect(await following).toMatchObject({
      status: 130,
      stderr: expect.stringContaining('the request stays') as string,
    });
    expect(await requested('debian-12')).toBeDefined();
  });

  it('--follow ends with 1 and the reason when the build fails; builds of before do not count', async () => {
    await createBuild({ state: 'failed' }, '0000000001');
    const following = call('image-build', 'debian-12', '--follow');
    await expect.poll(() => requested('debian-12')).toBeDefined();
    await createBuild({ state: 'building', builder: 'nb01' }, '0000000002');
    await get().zk.setData(buildPath('debian-12', '0000000002'), '{"state": "failed", "error": "exit code 3"}');

    const { status, stderr } = await following;

    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/Build 0000000002 of debian-12 failed after .*: exit code 3/),
    ]);
  });
});

describe('nodepool image-log', () => {
  it('says where the log may be', async () => {
    await createBuild({ builder: 'nb07' }, '0000000003');

    expect(await call('image-log', 'debian-12-0000000003')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('built by nb07') as string,
    });
    expect((await call('image-log', 'nothing')).stderr).toContain('no builder has a build of it');
  });

  /** Who answers every question for a log with this, at the address of a builder of this machine. */
  async function impostor(part: Buffer): Promise<void> {
    const server = createServer((_, response) => response.end(part)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const known = { kind: 'builder' as const, hostname: hostname(), state: 'running' as const, version: '1.0' };
    const webUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await get().zk.ensurePath(componentsPath('builder'));
    const record = encodeComponent({ ...newComponent(known), webUrl });
    await get().zk.create(componentCreatePath('builder', hostname()), record, { sequential: true });
    await createBuild({ builder: hostname() }, '0000000004');
  }

  it('ends when the same is answered wherever the log is read from', async () => {
    await impostor(Buffer.from('nineteen bytes long'));

    expect(await call('image-log', 'debian-12-0000000004')).toMatchObject({
      status: 0,
      stdout: 'nineteen bytes long',
    });
  });

  it('ends with a log that has no end', async () => {
    await impostor(Buffer.alloc(262_144, 'x'));

    expect(await call('image-log', 'debian-12-0000000004')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('has more than 268435456 bytes') as string,
    });
  }, 60_000);
});
