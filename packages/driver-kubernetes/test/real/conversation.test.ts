import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  ApiAccess,
  ControlPlane,
  CONVERSATION,
  ensureBuilt,
  hold,
  programFolder,
  storedParts,
  type OpenApi,
} from '@nodepool/kubernetes';

const RECORDED = new URL('../../../../tools/kubernetes/src/fixtures/answers.json', import.meta.url);
const DOCUMENT = new URL('../../../../tools/kubernetes/src/fixtures/openapi.json', import.meta.url);
/** Writes down what the server answers, instead of comparing it. */
const isRecording = process.env['NODEPOOL_RECORD'] === '1';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await ControlPlane.start({ programs: await ensureBuilt(programFolder(process.env)) });
});

afterAll(() => plane.stop());

it('kube-apiserver answers as it did when its answers were recorded', async () => {
  await plane.accountKubeconfig('stranger', []);
  const ca = await readFile(plane.tls.ca, 'utf8');
  const as = (token: string) => new ApiAccess(plane.server, { ca, token });
  const stranger = as(await plane.token('default', 'stranger', 3_600));
  const unknown = as('unknown');

  const heard = await hold({ admin: plane.admin, stranger, unknown }, pause);

  const named = CONVERSATION.map(({ name }, index) => ({ name, answer: heard[index] }));
  await Promise.all([stranger.close(), unknown.close()]);
  if (isRecording) await writeFile(RECORDED, `${JSON.stringify(named, undefined, 1)}\n`);
  const recorded: unknown = JSON.parse(await readFile(RECORDED, 'utf8'));
  expect(JSON.parse(JSON.stringify(named))).toEqual(recorded);
});

it('kube-apiserver describes itself as the stored document does', async () => {
  const parts = storedParts((await plane.admin.must('GET', 'openapi/v2')) as unknown as OpenApi);

  if (isRecording) await writeFile(DOCUMENT, `${JSON.stringify(parts)}\n`);
  expect(parts).toEqual(JSON.parse(await readFile(DOCUMENT, 'utf8')));
});
