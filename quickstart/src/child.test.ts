import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { eachLine } from './child.js';
import { refuseSecondLauncher } from './launcher.js';

it('hands over each line once, also the last one without an end', async () => {
  const lines: string[] = [];

  await eachLine(Readable.from(['a\nb', 'c\n', 'd']), (line) => lines.push(line));
  await eachLine(null, () => expect.fail('there is no stream'));

  expect(lines).toEqual(['a', 'bc', 'd']);
});

it('refuses a state directory whose launcher still runs, and takes one whose launcher has ended', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quickstart-launcher-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const write = (pid: number) =>
    writeFile(join(directory, 'embedded-zookeeper.json'), JSON.stringify({ socket: join(directory, 'socket'), pid }));

  refuseSecondLauncher(directory);
  await write(process.pid);
  expect(() => refuseSecondLauncher(directory)).toThrow(`process ${process.pid} already runs a launcher`);
  await write(2 ** 22 + 1);
  refuseSecondLauncher(directory);
});
