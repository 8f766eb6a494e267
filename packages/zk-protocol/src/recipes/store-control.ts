import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { controlPath, encodeControl } from '../records/control.js';
import type { ControlRecord, ControlSubject } from '../records/control.js';

/** Stores a control; replaces an existing one. */
export async function storeControl(zk: ZooKeeper, control: ControlRecord): Promise<void> {
  const path = controlPath(control);
  await zk.ensurePath(path.slice(0, path.lastIndexOf('/')));
  await storeRecord(zk, path, encodeControl(control));
}

/** Stores a record whose directory exists; replaces an existing one. */
export async function storeRecord(zk: ZooKeeper, path: string, body: Buffer): Promise<void> {
  if (await overwrite(zk, path, body)) return;
  try {
    await zk.create(path, body);
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    await zk.setData(path, body);
  }
}

async function overwrite(zk: ZooKeeper, path: string, body: Buffer): Promise<boolean> {
  try {
    await zk.setData(path, body);
    return true;
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    return false;
  }
}

/** Removes a control. @returns false if there was none */
export async function removeControl(zk: ZooKeeper, subject: ControlSubject): Promise<boolean> {
  try {
    await zk.delete(controlPath(subject));
    return true;
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    return false;
  }
}
