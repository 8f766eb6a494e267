import { handlerWith, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "reuse" of the contract. */
export const REUSE: readonly BrokenDriver[] = [
  {
    flaw: 'wants no node that exists',
    breaks: 'reuse: hands out a node that was made and not used',
    make: handlerWith(() => ({ checkReusableNode: () => false })),
  },
  {
    flaw: 'accepts no node that exists',
    breaks: 'reuse: hands out a node that was made and not used',
    make: handlerWith(() => ({ acceptsNode: () => false })),
  },
  {
    flaw: 'has no images for any request',
    breaks: 'create: makes a node that can be used',
    make: handlerWith(() => ({ imagesAvailable: () => false })),
    spoilsAll: true,
  },
  {
    flaw: 'spreads a request over zones',
    breaks: 'reuse: keeps the nodes of a request in one zone',
    make: (current) => {
      let count = 0;
      return handlerWith((handler) => ({
        setNodeMetadata: (node) => ({ ...(handler.setNodeMetadata?.(node) ?? node), az: count++ % 2 ? 'a' : 'b' }),
      }))(current);
    },
  },
  {
    flaw: 'has no answer for other zones',
    breaks: 'reuse: judges nodes of other zones without failing',
    make: handlerWith(() => ({
      acceptsNode: ({ az }) => {
        if (az !== 'a' && az !== 'b') throw new Error(`what zone is ${String(az)}?`);
        return true;
      },
    })),
  },
  {
    flaw: 'makes another record of a new one',
    breaks: 'reuse: completes new records without changing what they are',
    make: handlerWith((handler) => ({
      setNodeMetadata: (node) => ({ ...(handler.setNodeMetadata?.(node) ?? node), labels: [...node.labels, 'extra'] }),
    })),
  },
];
