import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it.each([
  ['info', 'rak', 'has the provider rak, did you mean rack?'],
  ['image-pause', 'debina', 'has the image debina, did you mean debian?'],
  ['image-unpause', 'debina', 'has the image debina, did you mean debian?'],
])('%s %s warns of a name that is not known, with status 0', async (command, name, message) => {
  await get().registerRack(['small']);
  await get().zk.ensurePath('/nodepool/images/debian');

  expect(await call(command, name)).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(message) as string,
  });
});
