import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { onTestEnd } from '../../../test/support/clients.js';
import { askLifeSign, LifeSign } from './life-sign.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'life-sign-'));
  onTestEnd(() => rmSync(directory, { recursive: true }));
});

it('answers while it is open, and is gone when it is closed', async () => {
  const sign = await LifeSign.open(directory, 'sign');

  expect(await askLifeSign(directory, 'sign')).toBe('alive');
  await sign?.close();

  expect(await askLifeSign(directory, 'sign')).toBe('unknown');
  expect(existsSync(join(directory, 'sign'))).toBe(false);
});

it('is dead when nothing listens on its file', async () => {
  writeFileSync(join(directory, 'sign'), '');

  expect(await askLifeSign(directory, 'sign')).toBe('dead');
});

it('is not opened a second time under one name', async () => {
  const sign = await LifeSign.open(directory, 'sign');
  onTestEnd(() => sign?.close());

  expect(await LifeSign.open(directory, 'sign')).toBeUndefined();
  expect(await askLifeSign(directory, 'sign')).toBe('alive');
});
