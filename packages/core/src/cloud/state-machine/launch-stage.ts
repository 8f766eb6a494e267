import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Instance } from '../../contract/instance.js';
import type { NodeImage } from './node-fields.js';

/**
 * Where an attempt to launch a node is.
 * - `delete-leftovers` what earlier attempts left is being deleted
 * - `creating` the driver's state machine makes the instance
 * - `scanning` the instance runs; its host keys are being read
 * - `storing` all is known; the node is being stored as `ready`
 */
export type LaunchStage =
  | { readonly name: 'delete-leftovers'; readonly attempt: number }
  | { readonly name: 'creating'; readonly attempt: number; readonly image: NodeImage }
  | { readonly name: 'scanning'; readonly instance: Instance; readonly fields: Partial<NodeRecord> }
  | { readonly name: 'storing'; readonly fields: Partial<NodeRecord> };

/** What a stage leads to: another stage, or a ready node. A stage that fails throws. */
export type LaunchStep = LaunchStage | { readonly name: 'ready' };

/** The steps of some names. */
export type LaunchStepTo<Name extends LaunchStep['name']> = Extract<LaunchStep, { readonly name: Name }>;
