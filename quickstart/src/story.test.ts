import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { IMAGES, MACHINES, Story } from './story.js';

const idOf = (build: number) => String(build).repeat(32);
const about = (build: number, image: string) => `nodepool.builder: WHAT image=${image} build=${idOf(build)}`;
const ready = (build: number, image = 'debian') => [
  `${about(build, image).replace('WHAT', 'Build is ready')} durationMs=3\n`,
  `${about(build, image).replace('WHAT', 'Upload is ready')} provider=cloud upload=0000000001\n`,
  ...(build > 2
    ? [`${about(build - 2, image).replace('WHAT', 'Upload removed')} provider=cloud upload=0000000001\n`]
    : []),
];
const failed = (build: number) =>
  `${about(build, 'debian').replace('WHAT', 'Build failed; the images in service stay')} reason="no such element"\n`;

/** All lines printed for such a log. */
async function toldOf(lines: readonly string[], tellings = IMAGES): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-story-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const log = join(directory, 'builder.log');
  await writeFile(log, '');
  const told: string[] = [];
  const END = 'THE END';
  let story: Story | undefined;
  await new Promise<void>((resolve, reject) => {
    const tell = (text: string) => void (text.includes(END) ? resolve() : told.push(text.trim()));
    Story.follow(log, [...tellings, { line: new RegExp(END), text: END }], tell)
      .then((opened) => (story = opened))
      .then(() => appendFile(log, `${lines.join('')}${END}\n`))
      .catch(reject);
  });
  await story?.close();
  return told;
}

it('tells of an image how it is replaced, and then only what changes', async () => {
  const quiet = [1, 2, 3, 4, 5].flatMap((build) => ready(build));

  const told = await toldOf([...quiet, failed(6), failed(7), ...ready(8), ...ready(1, 'fedora')]);

  expect(told.map((line) => line.replace(/(\d)\1+/, '$1').replace(/: (?:new machines|two newer).*/, ''))).toEqual([
    'cloud: image build 1 is ready',
    'cloud: image build 1 is uploaded',
    'cloud: image build 2 is ready',
    'cloud: image build 2 is uploaded',
    'cloud: image build 1 is removed',
    'cloud: image build 6 has failed: no such element',
    'cloud: image build 8 is ready',
    'cloud: image build 8 is uploaded',
    'cloud: image build 6 is removed',
    'cloud: image build 1 is ready',
    'cloud: image build 1 is uploaded',
  ]);
});

it.each(['i-12', 'np0000000003-5a3285'])('tells of machine %s, and not of a slot of it', async (id) => {
  const lines = [
    `[node: 0000000003] Node is ready provider=cloud externalId=${id} az=null ms=905\n`,
    '[node: 0000000004] Node is ready provider=slots externalId=0000000003 az=null ms=1\n',
    `[node: 0000000003] Deleted node provider=cloud externalId=${id}\n`,
  ];

  expect(await toldOf(lines, MACHINES)).toEqual([
    'cloud: machine 0000000003 is ready after 905 ms, its SSH host keys are known',
    'cloud: machine 0000000003 is deleted',
  ]);
});
