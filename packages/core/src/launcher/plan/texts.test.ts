import { describe, expect, it } from 'vitest';
import { amountText, labelsToText } from './texts.js';

describe('labels for people', () => {
  it('are shown as they are while they are few, or all different', () => {
    expect(labelsToText(['big', 'big', 'small'])).toBe('big, big, small');
    expect(labelsToText(['a', 'b', 'c', 'd', 'e', 'f'], ',')).toBe('a,b,c,d,e,f');
  });

  it('are counted when they are many', () => {
    expect(labelsToText(Array<string>(5000).fill('big'))).toBe('5000 x big');
    expect(labelsToText(['a', 'b', 'a', 'b', 'a', 'c'])).toBe('3 x a, 2 x b, c');
  });
});

describe('amounts', () => {
  it('are singular when they are one', () => {
    expect([amountText(1, 'instances'), amountText(2, 'cores'), amountText(1, 'ram')]).toEqual([
      '1 instance',
      '2 cores',
      '1 ram',
    ]);
  });
});
