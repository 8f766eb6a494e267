import type { InstanceType } from './config.js';

/** Contents of the metadata of an image. */
export interface ImageMetadata {
  readonly type: InstanceType;
  readonly architecture: string;
  readonly createdS: number;
  readonly properties: Readonly<Record<string, string>>;
}

const BLOCK = 512;
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  arm64: 'aarch64',
  arm: 'armv7l',
  ia32: 'i686',
};

/** Name of an architecture of Node in Incus. */
export function architectureOf(arch: string): string {
  return ARCHITECTURES[arch] ?? arch;
}

/** The metadata archive of a split image: a tar with `metadata.yaml`. JSON is YAML. */
export function metadataTar({ architecture, createdS, properties }: ImageMetadata): Buffer {
  const text = Buffer.from(JSON.stringify({ architecture, creation_date: createdS, properties }, undefined, 2));
  const padding = Buffer.alloc((BLOCK - (text.length % BLOCK)) % BLOCK);
  return Buffer.concat([tarHeader('metadata.yaml', text.length, createdS), text, padding, Buffer.alloc(2 * BLOCK)]);
}

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 */
function tarHeader(name: string, size: number, modifiedS: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(modifiedS, 12), 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\0' + '00', 257);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  );
  return header;
}
