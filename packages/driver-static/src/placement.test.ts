import { describe, expect, it } from 'vitest';
import { canPlace } from './placement.js';

const host = (labels: string[], maxParallelJobs = 1) => ({ labels, maxParallelJobs });

describe('canPlace', () => {
  it('finds no place for two labels that only one slot has', () => {
    expect(canPlace([host(['small', 'medium'])], ['small'])).toBe(true);
    expect(canPlace([host(['small', 'medium'])], ['medium'])).toBe(true);
    expect(canPlace([host(['small', 'medium'])], ['small', 'medium'])).toBe(false);
  });

  it('counts each slot of a host', () => {
    expect(canPlace([host(['small', 'medium'], 2)], ['small', 'medium'])).toBe(true);
    expect(canPlace([host(['small', 'medium'], 2)], ['small', 'medium', 'small'])).toBe(false);
  });

  it('moves a label to another host when the first one is needed for something else', () => {
    const hosts = [host(['small', 'medium']), host(['small', 'large']), host(['large'])];

    expect(canPlace(hosts, ['small', 'large', 'medium'])).toBe(true);
    expect(canPlace(hosts, ['small', 'small', 'large'])).toBe(true);
    expect(canPlace(hosts, ['medium', 'medium', 'large'])).toBe(false);
  });
});
