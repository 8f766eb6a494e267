import { join } from 'node:path';
import ssh2 from 'ssh2';
import { describe, expect, it } from 'vitest';
import { keyPairAt } from './keys.js';
import { makeTempDir } from '../../../test/temp-dir.js';

/** Without a check about one in 256 is not usable. */
const ENOUGH = 700;

describe('key pairs', () => {
  it('can be read and used, each of them', () => {
    const dir = makeTempDir();

    const unusable = Array.from({ length: ENOUGH }, (_, index) => keyPairAt(join(dir, String(index)))).filter(
      (pair) => {
        const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
        return secret instanceof Error || open instanceof Error || open.verify('x', secret.sign('x')) !== true;
      },
    );

    expect(unusable).toEqual([]);
  });

  it('stay what they are', () => {
    const file = join(makeTempDir(), 'key');

    expect(keyPairAt(file)).toEqual(keyPairAt(file));
  });
});
