import { formatAge } from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import type { ControlRecord } from '@nodepool/zk-protocol';
import { defineCommand, NO_ARGUMENTS } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { printListing } from '../terminal/output.js';

/** `nodepool controls`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: listControls,
});

const endText = ({ endTimeMs }: ControlRecord) => (endTimeMs === null ? null : new Date(endTimeMs).toISOString());

const controlListing: Listing<ControlRecord> = [
  { key: 'kind', header: 'Kind', level: 'brief', value: ({ kind }) => kind },
  { key: 'name', header: 'Name', level: 'brief', value: ({ name }) => name },
  { key: 'mode', header: 'Mode', level: 'brief', value: ({ mode }) => mode },
  { key: 'limit', header: 'Limit', level: 'brief', value: ({ limit }) => limit },
  { key: 'owner', header: 'Owner', level: 'brief', value: ({ owner }) => owner },
  { key: 'reason', header: 'Reason', level: 'brief', value: ({ reason }) => reason },
  {
    key: 'age',
    header: 'Age',
    level: 'brief',
    value: ({ createdTimeMs }, nowMs) => formatAge(nowMs - createdTimeMs),
  },
  { key: 'until', header: 'Until', level: 'brief', value: endText },
];

/** `nodepool controls`: what operators have paused, drained or limited. */
async function listControls(context: CliContext): Promise<void> {
  const controls = await withZooKeeper(context, (zk) => fetchControls({ ...context, zk }));
  printListing(context, controlListing, controls);
}
