import { expect, it } from 'vitest';
import { propertyTexts } from './property-texts.js';

it('writes properties of images as Nodepool (Python) does', () => {
  const texts = propertyTexts({
    hw_qemu_guest_agent: true,
    secure: false,
    min_disk: 4,
    os: 'linux',
    tags: ['a', 'b'],
    x: null,
  });

  expect(texts).toEqual({
    hw_qemu_guest_agent: 'True',
    secure: 'False',
    min_disk: '4',
    os: 'linux',
    tags: '["a","b"]',
  });
});
