import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { architectureOf, metadataTar } from './image-archive.js';

it('is an archive that tar reads', () => {
  const properties = { name: 'debian', text: 'x'.repeat(600) };
  const tar = metadataTar({ type: 'container', architecture: 'x86_64', createdS: 1_700_000_000, properties });

  const listed = execFileSync('tar', ['-tvf', '-'], { input: tar, encoding: 'utf8' });
  const content = execFileSync('tar', ['-xOf', '-', 'metadata.yaml'], { input: tar, encoding: 'utf8' });

  expect(listed).toMatch(/metadata\.yaml\n$/);
  expect(JSON.parse(content)).toEqual({ architecture: 'x86_64', creation_date: 1_700_000_000, properties });
});

it('names architectures as the kernel does', () => {
  expect([architectureOf('x64'), architectureOf('arm64'), architectureOf('s390x')]).toEqual([
    'x86_64',
    'aarch64',
    's390x',
  ]);
});
