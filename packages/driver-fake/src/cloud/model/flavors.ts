import type { Flavor, InstanceOrder } from './types.js';

/** Default flavors, smallest first. */
export const DEFAULT_FLAVORS: readonly Flavor[] = [
  { name: 'tiny', ram: 512, cores: 1 },
  { name: 'small', ram: 2048, cores: 1 },
  { name: 'medium', ram: 4096, cores: 2 },
  { name: 'large', ram: 8192, cores: 4 },
  { name: 'xlarge', ram: 16384, cores: 8 },
  { name: '2xlarge', ram: 32768, cores: 16 },
  { name: '4xlarge', ram: 65536, cores: 32 },
];

/** RAM in MiB of a made-up flavor. */
const INVENTED_RAM = 8192;
const MIB_PER_CORE = 2048;

/** Flavors in selection order: smallest first. */
export function sortFlavors(flavors: readonly Flavor[]): readonly Flavor[] {
  return [...flavors].sort((a, b) => a.ram - b.ram || (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/**
 * The flavor of an order: the smallest with the requested RAM whose name contains `flavor`; without RAM, the flavor of
 * that name. `undefined` if the cloud has none. A cloud without a configured list makes up any other flavor.
 * @param configured - sorted
 */
export function chooseFlavor(
  { flavor, minRam = 0 }: Pick<InstanceOrder, 'flavor' | 'minRam'>,
  configured: readonly Flavor[] | undefined,
): Flavor | undefined {
  const flavors = configured ?? DEFAULT_FLAVORS;
  const found =
    minRam > 0
      ? flavors.find((one) => one.ram >= minRam && (flavor === undefined || one.name.includes(flavor)))
      : flavors.find((one) => one.name === flavor);
  if (found !== undefined || configured !== undefined) return found;
  const ram = minRam > 0 ? minRam : INVENTED_RAM;
  return { name: flavor ?? `ram-${ram}`, ram, cores: Math.max(1, Math.ceil(ram / MIB_PER_CORE)) };
}
