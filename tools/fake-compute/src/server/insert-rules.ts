// Rules for inserts that Google documents only in prose, each with its source.
import type { JsonObject } from '@nodepool/zk-protocol';
import { invalid } from './api-error.js';

/** RFC 1035; https://cloud.google.com/compute/docs/naming-resources#resource-name-format */
const NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** https://cloud.google.com/compute/docs/labeling-resources#requirements */
const LABEL_KEY = /^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const LABEL_VALUE = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;
const MOST_LABELS = 64;
/** https://cloud.google.com/compute/docs/metadata/setting-custom-metadata#limitations */
const METADATA_KEY = /^[A-Za-z0-9_-]{1,128}$/;
const METADATA_VALUE_BYTES = 256 * 1_024;
const METADATA_BYTES = 512 * 1_024;
/** https://cloud.google.com/compute/docs/instances/limit-vm-runtime#restrictions: 30 s to 120 days */
const RUN_SECONDS = { least: 30, most: 120 * 86_400 };

interface InsertBody {
  readonly name?: string;
  readonly machineType?: string;
  readonly labels?: Record<string, string>;
  readonly tags?: { readonly items?: readonly string[] };
  readonly metadata?: { readonly items?: readonly { readonly key?: string; readonly value?: string }[] };
  readonly disks?: readonly {
    readonly boot?: boolean;
    readonly initializeParams?: {
      readonly diskName?: string;
      readonly sourceImage?: string;
      readonly diskType?: string;
      readonly diskSizeGb?: string;
      readonly labels?: Record<string, string>;
    };
  }[];
  readonly networkInterfaces?: readonly { readonly network?: string; readonly subnetwork?: string }[];
  readonly scheduling?: {
    readonly provisioningModel?: string;
    readonly automaticRestart?: boolean;
    readonly onHostMaintenance?: string;
    readonly instanceTerminationAction?: string;
    readonly maxRunDuration?: { readonly seconds?: string };
  };
}

/** @throws {ApiError} the insert violates a rule */
export function checkInsert(body: JsonObject, zone: string): void {
  const order = body as unknown as InsertBody; // it matches the schema
  if (!NAME.test(order.name ?? '')) throw invalid('resource.name', `'${order.name}'. Must be a match of RFC 1035`);
  if (!order.machineType) throw invalid('resource.machineType', 'it is missing');
  checkLabels('resource.labels', order.labels);
  checkTags(order.tags?.items ?? []);
  checkMetadata(order);
  checkDisks(order, zone);
  if (!order.networkInterfaces?.length) throw invalid('resource.networkInterfaces', 'At least one is required');
  checkScheduling(order);
}

function checkLabels(field: string, labels: Record<string, string> = {}): void {
  const all = Object.entries(labels);
  if (all.length > MOST_LABELS) throw invalid(field, `more than ${MOST_LABELS} labels`);
  for (const [key, value] of all) {
    if (!LABEL_KEY.test(key) || !LABEL_VALUE.test(value)) throw invalid(field, `'${key}: ${value}'`);
  }
}

/** https://cloud.google.com/vpc/docs/add-remove-network-tags#restrictions */
function checkTags(tags: readonly string[]): void {
  if (tags.length > 64) throw invalid('resource.tags.items', 'more than 64 tags');
  for (const tag of tags) if (!NAME.test(tag)) throw invalid('resource.tags.items', `'${tag}'`);
}

function checkMetadata({ metadata }: InsertBody): void {
  const items = metadata?.items ?? [];
  const keys = items.map(({ key }) => key ?? '');
  if (new Set(keys).size < keys.length) throw invalid('resource.metadata.items', 'a key is given twice');
  let bytes = 0;
  for (const { key = '', value = '' } of items) {
    if (!METADATA_KEY.test(key)) throw invalid('resource.metadata.items', `key '${key}'`);
    const size = Buffer.byteLength(value);
    if (size > METADATA_VALUE_BYTES) throw invalid('resource.metadata.items', `value of '${key}' is too large`);
    bytes += key.length + size;
  }
  if (bytes > METADATA_BYTES) throw invalid('resource.metadata', 'it is larger than 512 KB');
}

/** https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert, `disks[]` */
function checkDisks({ disks = [] }: InsertBody, zone: string): void {
  if (disks.filter(({ boot }) => boot === true).length !== 1) {
    throw invalid('resource.disks', 'exactly one disk must be the boot disk');
  }
  for (const { initializeParams } of disks) {
    const { diskName, diskType, diskSizeGb, labels } = initializeParams ?? {};
    if (diskName !== undefined && !NAME.test(diskName)) {
      throw invalid('resource.disks[0].initializeParams.diskName', `'${diskName}'. Must be a match of RFC 1035`);
    }
    checkLabels('resource.disks.initializeParams.labels', labels);
    if (diskType !== undefined && !diskType.includes(`zones/${zone}/diskTypes/`)) {
      throw invalid('resource.disks[0].initializeParams.diskType', `'${diskType}'. It is not in zone ${zone}`);
    }
    if (diskSizeGb !== undefined && Number(diskSizeGb) < 10) {
      throw invalid('resource.disks[0].initializeParams.diskSizeGb', `'${diskSizeGb}'. Disk size is below the image's`);
    }
  }
}

/**
 * https://cloud.google.com/compute/docs/instances/spot#limitations: no live migration, no automatic restart.
 * https://cloud.google.com/compute/docs/instances/limit-vm-runtime: a run duration requires a termination action, and the
 * action requires Spot provisioning or a run duration.
 */
function checkScheduling({ scheduling = {} }: InsertBody): void {
  const { provisioningModel, automaticRestart, onHostMaintenance, instanceTerminationAction, maxRunDuration } =
    scheduling;
  const isSpot = provisioningModel === 'SPOT';
  if (isSpot && automaticRestart !== false) throw invalid('scheduling.automaticRestart', 'must be false for Spot VMs');
  if (isSpot && onHostMaintenance !== undefined && onHostMaintenance !== 'TERMINATE') {
    throw invalid('scheduling.onHostMaintenance', 'must be TERMINATE for Spot VMs');
  }
  if (instanceTerminationAction !== undefined && !isSpot && !maxRunDuration) {
    throw invalid('scheduling.instanceTerminationAction', 'needs Spot provisioning or a limited run time');
  }
  if (!maxRunDuration) return;
  const seconds = Number(maxRunDuration.seconds);
  if (!instanceTerminationAction) throw invalid('scheduling.maxRunDuration', 'needs an instanceTerminationAction');
  if (!(seconds >= RUN_SECONDS.least && seconds <= RUN_SECONDS.most)) {
    throw invalid('scheduling.maxRunDuration', `${seconds} s. It must be 30 s to 120 days`);
  }
}
