import type { MetricDefinition, PrometheusForm, StatsdForm, StatsdType } from './definition.js';
import { USAGE_PHASES } from './usage-phase.js';

const FAST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const SLOW_SECONDS = [0.025, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];

const CHANGE = 'by the leader: after a change, at most once a second; everything every 10 s';
const INTERNAL = 'every 10 s';
const IMAGE_CHANGE = 'by each builder: after a change, and every minute';

function sent(
  when: string,
  types: readonly StatsdType[],
  ...names: readonly string[]
): { readonly statsd: StatsdForm } {
  return { statsd: { names, types, when } };
}

function exposed(
  type: PrometheusForm['type'],
  name: string,
  labels: PrometheusForm['labels'] = [],
  buckets?: readonly number[],
): { readonly prometheus: PrometheusForm } {
  return { prometheus: buckets ? { name, type, labels, buckets } : { name, type, labels } };
}

/** State of the whole installation: the same on every launcher, sent to statsd only by the leader. */
const INSTALLATION = {
  nodes: {
    help: 'Nodes by state',
    ...sent(CHANGE, ['gauge'], 'nodepool.nodes.<state>'),
    ...exposed('gauge', 'nodepool_nodes', ['state']),
  },
  labelNodes: {
    help: 'Nodes by label and state; a node counts for each of its labels',
    ...sent(CHANGE, ['gauge'], 'nodepool.label.<label>.nodes.<state>'),
    ...exposed('gauge', 'nodepool_label_nodes', ['label', 'state']),
  },
  providerNodes: {
    help: 'Nodes by provider and state',
    ...sent(CHANGE, ['gauge'], 'nodepool.provider.<provider>.nodes.<state>'),
    ...exposed('gauge', 'nodepool_provider_nodes', ['provider', 'state']),
  },
  addressableRequests: {
    help: 'Requests in any state whose labels are all offered by a registered pool',
    ...sent(CHANGE, ['gauge'], 'nodepool.provider.<provider>.pool.<pool>.addressable_requests'),
    ...exposed('gauge', 'nodepool_addressable_requests', ['provider', 'pool']),
  },
  requests: { help: 'Requests by state', ...exposed('gauge', 'nodepool_requests', ['state']) },
  operatorOrders: {
    help: 'Orders of operators in force, each 1: providers, pools, labels and images paused, drained or limited',
    ...exposed('gauge', 'nodepool_operator_orders', ['kind', 'name', 'mode']),
  },
  leader: {
    help: '1 on the launcher that sends the metrics of the installation to statsd, else 0',
    ...exposed('gauge', 'nodepool_statistics_leader'),
  },
} as const satisfies Record<string, MetricDefinition>;

const BY_USE = ['tenant', 'label', 'provider', 'phase'] as const;

/** What all nodes of the installation took since the start of the process: the same on every launcher. */
const USAGE = {
  nodeSeconds: {
    help: `Time of nodes by phase: ${USAGE_PHASES.join(', ')}; a deletion belongs to the phase before`,
    ...exposed('counter', 'nodepool_node_seconds_total', BY_USE),
  },
  coreSeconds: {
    help: 'The same, times the cores of each node',
    ...exposed('counter', 'nodepool_core_seconds_total', BY_USE),
  },
  ramSeconds: {
    help: 'The same, times the memory of each node in MiB',
    ...exposed('counter', 'nodepool_ram_mib_seconds_total', BY_USE),
  },
  cost: {
    help: 'The same in money, for labels with a `price`',
    ...exposed('counter', 'nodepool_cost_total', BY_USE),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Limits from the configuration. */
const LIMITS = {
  maxServers: {
    help: 'Sum of max-servers over the pools of a provider; left out while a pool has no limit',
    ...sent('at the start, after a reload, every 10 s', ['gauge'], 'nodepool.provider.<provider>.max_servers'),
    ...exposed('gauge', 'nodepool_provider_max_servers', ['provider']),
  },
  tenantLimit: {
    help: 'Configured limit of a tenant by resource',
    ...sent('at the start, after a reload, every 10 s', ['gauge'], 'nodepool.tenant_limits.<tenant>.<resource>'),
    ...exposed('gauge', 'nodepool_tenant_limit', ['tenant', 'resource']),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Work of this launcher. */
const WORK = {
  requestWait: {
    help: 'Time from the creation of a request to its fulfilment by this launcher',
    ...exposed('histogram', 'nodepool_request_wait_seconds', ['provider', 'pool'], SLOW_SECONDS),
  },
  requestWaitCause: {
    help: 'Waiting time of a fulfilled request by cause and by each of its labels',
    ...sent('when a request is fulfilled', ['timer'], 'nodepool.request_wait.<cause>.<label>'),
    ...exposed('histogram', 'nodepool_request_wait_cause_seconds', ['cause', 'label'], SLOW_SECONDS),
  },
  nodesTooLong: {
    help: 'Nodes whose creation took more than 15 minutes, or whose deletion took more than 10',
    ...sent('when a node has passed the limit', ['counter'], 'nodepool.provider.<provider>.too_long.<state>'),
    ...exposed('counter', 'nodepool_nodes_too_long_total', ['provider', 'state']),
  },
  requestsEnded: {
    help: 'Requests handled by this launcher, by outcome',
    ...exposed('counter', 'nodepool_requests_ended_total', ['provider', 'pool', 'outcome']),
  },
  poolRequests: {
    help: 'Requests of a pool of this launcher; paused requests are accepted and wait for capacity',
    ...exposed('gauge', 'nodepool_pool_requests', ['provider', 'pool', 'state']),
  },
  launches: {
    help: 'Ended launch attempts by result: ready or error.<kind>',
    ...sent(
      'when a launch attempt ends',
      ['timer', 'counter'],
      'nodepool.launch.<result>',
      'nodepool.launch.provider.<provider>.<result>',
      'nodepool.launch.provider.<provider>.<az>.<result>',
      'nodepool.launch.requestor.<requestor>.<result>',
      'nodepool.launch.image.<image>.<result>',
    ),
    ...exposed('counter', 'nodepool_launches_total', ['provider', 'az', 'requestor', 'image', 'result']),
  },
  launchDuration: {
    help: 'Duration of launch attempts by result',
    ...exposed('histogram', 'nodepool_launch_duration_seconds', ['provider', 'result'], SLOW_SECONDS),
  },
  deleteDuration: {
    help: 'Time from the start of a deletion until the instance is gone',
    ...exposed('histogram', 'nodepool_delete_duration_seconds', ['provider'], SLOW_SECONDS),
  },
  failingDeletions: {
    help: 'Failed deletions that will be retried',
    ...exposed('gauge', 'nodepool_failing_deletions'),
  },
  providerFailing: {
    help: '1 while launches of the provider fail and requests go to other providers, else 0',
    ...exposed('gauge', 'nodepool_provider_failing', ['provider']),
  },
  conditions: {
    help: 'Current conditions, each 1; docs/conditions.md explains the types',
    ...exposed('gauge', 'nodepool_condition', ['kind', 'name', 'type', 'reason', 'severity']),
  },
  launchLimit: {
    help: 'Present limit of concurrent launches of the provider, which launches in time raise',
    ...exposed('gauge', 'nodepool_provider_launch_limit', ['provider']),
  },
  operationState: {
    help: 'Time that operations spent in each state',
    ...exposed('histogram', 'nodepool_operation_state_seconds', ['provider', 'machine', 'state'], SLOW_SECONDS),
  },
  leaked: {
    help: 'Leaked resources deleted, by type in the plural, e.g. instances',
    ...sent('when one was deleted', ['counter'], 'nodepool.provider.<provider>.leaked.<type>'),
    ...exposed('counter', 'nodepool_leaked_resources_total', ['provider', 'type']),
  },
  sweepFound: {
    help: 'Work found by a periodic sweep that an event should have announced; any value but 0 is a defect',
    ...exposed('counter', 'nodepool_sweep_found_total', ['work']),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Calls to clouds. */
const CALLS = {
  apiCalls: {
    help: 'Calls to a cloud by outcome: ok, error.<kind>, or the status of the answer',
    ...sent('when a call ends', ['timer', 'counter'], 'nodepool.task.<provider>.<call>'),
    ...exposed('counter', 'nodepool_api_calls_total', ['provider', 'call', 'outcome']),
  },
  apiCallDuration: {
    help: 'Duration of calls to a cloud',
    ...exposed('histogram', 'nodepool_api_call_duration_seconds', ['provider', 'call'], FAST_SECONDS),
  },
  apiCallStatus: {
    help: 'Calls to a cloud by status of the answer, for drivers that report it',
    ...sent(
      'when a call is answered',
      ['timer', 'counter'],
      'nodepool.task.<provider>.<call>.<status>',
      '<prefix>.<call>.<status>',
    ),
  },
  apiCallAttempted: {
    help: 'Calls to a cloud, answered or not',
    ...sent('when a call ends', ['counter'], 'nodepool.task.<provider>.<call>.attempted', '<prefix>.<call>.attempted'),
  },
  apiCallFailed: {
    help: 'Calls to a cloud that ended with an error instead of an answer',
    ...sent('when such a call ends', ['counter'], 'nodepool.task.<provider>.<call>.failed', '<prefix>.<call>.failed'),
  },
  instanceListAge: {
    help: 'Age of the list of instances whenever it is read, with or without success',
    ...sent('when it is read', ['gauge'], 'nodepool.task.<provider>.instance_list_age'),
    ...exposed('histogram', 'nodepool_instance_list_age_seconds', ['provider'], SLOW_SECONDS),
  },
  apiCallSlow: {
    help: 'Calls to a cloud that took longer than a second',
    ...sent(
      'when such a call ends',
      ['counter'],
      'nodepool.task.<provider>.<call>.over_1000',
      '<prefix>.<call>.over_1000',
    ),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Disk images and the builders that make them. */
const IMAGES = {
  builds: {
    help: 'Ended image builds by exit code of the build tool; 1 if it has none',
    ...exposed('counter', 'nodepool_image_builds_total', ['image', 'rc']),
  },
  buildRc: {
    help: 'Exit code of the last build; 1 after a timeout',
    ...sent('when a build ends', ['gauge'], 'nodepool.dib_image_build.<image>.status.rc'),
  },
  buildDuration: {
    help: 'Duration of builds',
    ...sent('when a build ends', ['timer'], 'nodepool.dib_image_build.<image>.status.duration'),
    ...exposed('histogram', 'nodepool_image_build_duration_seconds', ['image'], SLOW_SECONDS),
  },
  lastBuild: {
    help: 'End of the last build, UNIX time in seconds',
    ...sent('when a build ends', ['gauge'], 'nodepool.dib_image_build.<image>.status.last_build'),
  },
  imageSize: {
    help: 'Bytes on disk of an image file of the last successful build',
    ...sent('after a good build', ['gauge'], 'nodepool.dib_image_build.<image>.<format>.size'),
  },
  imageBuilt: {
    help: 'End of the newest successful build of an image, UNIX time in seconds',
    ...exposed('gauge', 'nodepool_image_build_timestamp_seconds', ['image']),
  },
  imageBuildTime: {
    help: 'Duration of the newest successful build of an image',
    ...exposed('gauge', 'nodepool_image_last_build_duration_seconds', ['image']),
  },
  imageFileSize: {
    help: 'Size of the image file of the newest successful build',
    ...exposed('gauge', 'nodepool_image_size_bytes', ['image', 'format']),
  },
  imageServed: {
    help: 'End of the build of an image in service in a provider, not of one on trial, UNIX time in seconds; 0: it has none',
    ...exposed('gauge', 'nodepool_image_served_build_timestamp_seconds', ['image', 'provider']),
  },
  uploads: {
    help: 'Time from the start of an upload until it is ready, including its hook',
    ...sent('when an upload is ready', ['timer', 'counter'], 'nodepool.image_update.<image>.<provider>'),
    ...exposed('histogram', 'nodepool_image_upload_duration_seconds', ['image', 'provider'], SLOW_SECONDS),
  },
  allBuildRequests: {
    help: 'Images with a requested build that has not succeeded yet',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.image_build_requests'),
  },
  buildRequests: {
    help: '1 while a requested build is due, else 0',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.image.<image>.image_build_requests'),
    ...exposed('gauge', 'nodepool_image_build_requests', ['image']),
  },
  canary: {
    help: 'Percentage of launches with the newest build of an image: 0 until one of its nodes is ready (`canary`), then 100',
    ...exposed('gauge', 'nodepool_image_canary_percent', ['image']),
  },
  withdrawn: {
    help: '1 while the newest build of an image is withdrawn in a provider, or the image is paused because it was, else 0',
    ...exposed('gauge', 'nodepool_image_withdrawn', ['image']),
  },
  failingUploads: {
    help: 'Failed uploads of an image to a provider since the last successful one',
    ...exposed('gauge', 'nodepool_builder_failing_uploads', ['image', 'provider']),
  },
  buildState: {
    help: 'State of the builds of an image on this builder: 0 idle, 1 building, 3 paused',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.image.<image>.build.state'),
    ...exposed('gauge', 'nodepool_builder_build_state', ['image']),
  },
  uploadState: {
    help: 'State of the uploads of an image to a provider on this builder: 0 idle, 2 uploading, 3 paused',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.image.<image>.provider.<provider>.upload.state'),
    ...exposed('gauge', 'nodepool_builder_upload_state', ['image', 'provider']),
  },
  currentBuilds: {
    help: 'Running builds',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.current_builds'),
    ...exposed('gauge', 'nodepool_builder_builds'),
  },
  currentUploads: {
    help: 'Running uploads',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.current_uploads'),
    ...exposed('gauge', 'nodepool_builder_uploads'),
  },
  buildWorkers: {
    help: 'Maximum number of concurrent builds',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.build_workers'),
    ...exposed('gauge', 'nodepool_builder_build_workers'),
  },
  uploadWorkers: {
    help: 'Maximum number of concurrent uploads',
    ...sent(IMAGE_CHANGE, ['gauge'], 'nodepool.builder.<host>.upload_workers'),
    ...exposed('gauge', 'nodepool_builder_upload_workers'),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Internals of the launcher. */
const INTERNALS = {
  connectionQueue: {
    help: 'Unanswered requests to ZooKeeper',
    ...sent(INTERNAL, ['gauge'], 'nodepool.launcher.<host>.zk.client.connection_queue'),
    ...exposed('gauge', 'nodepool_zookeeper_pending_requests'),
  },
  eventQueue: {
    help: 'Events a cache has yet to apply',
    ...sent(INTERNAL, ['gauge'], 'nodepool.launcher.<host>.zk.<cache>_cache.event_queue'),
    ...exposed('gauge', 'nodepool_cache_event_queue', ['cache']),
  },
  playbackQueue: {
    help: 'Running reads of a cache',
    ...sent(INTERNAL, ['gauge'], 'nodepool.launcher.<host>.zk.<cache>_cache.playback_queue'),
    ...exposed('gauge', 'nodepool_cache_playback_queue', ['cache']),
  },
  zooKeeperConnected: {
    help: '1 while ZooKeeper answers, else 0',
    ...exposed('gauge', 'nodepool_zookeeper_connected'),
  },
  zooKeeperRequests: {
    help: 'Packets sent to ZooKeeper, without pings; a transaction counts once',
    ...exposed('counter', 'nodepool_zookeeper_requests_total'),
  },
  zooKeeperOperations: {
    help: 'Operations sent to ZooKeeper; each part of a transaction counts',
    ...exposed('counter', 'nodepool_zookeeper_operations_total'),
  },
  zooKeeperEvents: {
    help: 'Watch events received from ZooKeeper',
    ...exposed('counter', 'nodepool_zookeeper_events_total'),
  },
  statsdDropped: {
    help: 'Lines for statsd that could not be sent',
    ...exposed('counter', 'nodepool_statsd_dropped_lines_total'),
  },
  buildInfo: { help: 'Always 1; the label is the release', ...exposed('gauge', 'nodepool_build_info', ['version']) },
} as const satisfies Record<string, MetricDefinition>;

/** The process, with the standard names of Prometheus client libraries. */
const PROCESS = {
  processStart: {
    help: 'Start of the process, UNIX time in seconds',
    ...exposed('gauge', 'process_start_time_seconds'),
  },
  processUserCpu: { help: 'CPU time spent in user mode', ...exposed('counter', 'process_cpu_user_seconds_total') },
  processSystemCpu: {
    help: 'CPU time spent in the system',
    ...exposed('counter', 'process_cpu_system_seconds_total'),
  },
  processCpu: { help: 'CPU time spent', ...exposed('counter', 'process_cpu_seconds_total') },
  processResident: { help: 'Resident memory', ...exposed('gauge', 'process_resident_memory_bytes') },
  processOpenFiles: { help: 'Open file descriptors', ...exposed('gauge', 'process_open_fds') },
  heapUsed: { help: 'Heap in use', ...exposed('gauge', 'nodejs_heap_size_used_bytes') },
  heapTotal: { help: 'Heap reserved', ...exposed('gauge', 'nodejs_heap_size_total_bytes') },
  eventLoop: {
    help: 'Part of the time in which the event loop was busy since the last reading, 0 to 1',
    ...exposed('gauge', 'nodejs_eventloop_utilization'),
  },
} as const satisfies Record<string, MetricDefinition>;

/** Values of `<cache>`. */
export const CACHES = ['node', 'request', 'image'] as const;

/** Name of a cache in metrics. */
export type CacheName = (typeof CACHES)[number];

/** Every metric of launchers and builders, for statsd, for Prometheus and for the documentation. */
export const METRICS = {
  ...INSTALLATION,
  ...USAGE,
  ...LIMITS,
  ...WORK,
  ...CALLS,
  ...IMAGES,
  ...INTERNALS,
  ...PROCESS,
} as const;

/** Key of a metric in {@link METRICS}. */
export type MetricKey = keyof typeof METRICS;

/** Metrics that statsd gets. */
export type StatsdKey = { [K in MetricKey]: (typeof METRICS)[K] extends { statsd: StatsdForm } ? K : never }[MetricKey];

/** Metrics that Prometheus reads. */
export type PrometheusKey = {
  [K in MetricKey]: (typeof METRICS)[K] extends { prometheus: PrometheusForm } ? K : never;
}[MetricKey];
