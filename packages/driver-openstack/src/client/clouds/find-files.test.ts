import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readCloudFiles } from './find-files.js';
import { readCloud } from './read-cloud.js';
import type { CloudFiles } from './types.js';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodepool-clouds-'));
  for (const name of ['here', 'home', 'etc']) mkdirSync(join(dir, name));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(file: string, text: string): string {
  writeFileSync(join(dir, file), text);
  return join(dir, file);
}

function read(env: Record<string, string> = {}): CloudFiles {
  return readCloudFiles({ env, dirs: ['here', 'home', 'etc'].map((name) => join(dir, name)) });
}

function files(entry: JsonObject, more: Partial<CloudFiles> = {}): CloudFiles {
  return { clouds: { sky: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'], ...more };
}

const auth = { auth_url: 'https://keystone.example/v3', username: 'u', password: 'p', project_name: 'ci' };

describe('the files', () => {
  it('are looked for in the environment, then here, at home and in /etc', () => {
    put('etc/clouds.yaml', 'clouds: {etc: {}}');
    const inEtc = Object.keys(read().clouds);
    put('home/clouds.json', '{"clouds": {"home": {}}}');
    const atHome = Object.keys(read().clouds);
    put('here/clouds.yml', 'clouds: {here: {}}');
    const here = Object.keys(read().clouds);
    const named = put('named.yaml', 'clouds: {named: {}}');

    expect([inEtc, atHome, here]).toEqual([['etc'], ['home'], ['here']]);
    expect(Object.keys(read({ OS_CLIENT_CONFIG_FILE: named }).clouds)).toEqual(['named']);
    expect(Object.keys(read({ OS_CLIENT_CONFIG_FILE: join(dir, 'missing') }).clouds)).toEqual(['here']);
  });

  it('are merged: secrets over clouds, from wherever each was found', () => {
    put('here/clouds.yaml', 'clouds:\n  sky:\n    region-name: R\n    auth: {username: u, password: x}');
    put('etc/secure.yaml', 'clouds:\n  sky:\n    auth: {password: s3cret}');

    expect(read().clouds['sky']).toEqual({ region_name: 'R', auth: { username: 'u', password: 's3cret' } });
  });

  it('may be empty', () => {
    put('here/clouds.yaml', 'clouds: {sky: {auth: {password: p}}}');
    put('here/secure.yaml', '');
    put('here/clouds-public.yaml', '# nothing yet\n');

    expect(read().clouds['sky']).toEqual({ auth: { password: 'p' } });
  });

  it('may have lines that end with a carriage return', () => {
    put('here/clouds.yaml', 'clouds:\r  sky:\r    region_name: one\r');

    expect(read().clouds['sky']).toEqual({ region_name: 'one' });
  });

  it('that are no YAML are named, and what is in them is not shown', () => {
    put('here/secure.yaml', 'clouds:\n  sky: {auth: {password: "s3cret}}');

    expect(() => read()).toThrow(/secure\.yaml:2:\d+ is not valid YAML/);
    expect(() => read()).not.toThrow(/s3cret/);
  });

  it('that are missing are listed when a cloud is asked for', () => {
    expect(() => readCloud(read(), 'sky')).toThrow(/there is no clouds.yaml/);
    expect(() => readCloud(files({ auth }), 'sea')).toThrow(/cloud "sea" is not in clouds\.yaml: it has sky/);
  });
});
