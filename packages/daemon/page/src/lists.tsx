import { usePolled } from './live.js';
import { DataTable, type DataColumn } from './data-table.js';
import { Ago, Section, State } from './parts.js';
import { goTo } from './text.js';
import type { Host, NodeRecord, RequestLine, RequestRecord } from './types.js';
import { withoutSubject } from './words.js';

/** Options of a list. */
interface ListProps {
  /** The state it is filtered by; empty: all. */
  readonly state: string;
  readonly now: number;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown) => (typeof value === 'number' ? value : null);

function nodeColumns(now: number): readonly DataColumn<NodeRecord>[] {
  return [
    { name: 'Node', value: ({ id }) => id, show: ({ id }) => <a href={`#/nodes/${encodeURIComponent(id)}`}>{id}</a> },
    { name: 'State', value: ({ state }) => state, show: ({ state }) => <State name={state} /> },
    { name: 'Labels', value: ({ labels }) => labels.join(', ') },
    { name: 'Address', value: addressOf },
    { name: 'Host', value: (node) => textOf(node['hostname']) },
    { name: 'Who has it', value: (node) => textOf(node['user']) },
    { name: 'Provider', value: ({ provider, pool }) => `${provider ?? ''} / ${pool ?? ''}` },
    { name: 'Since', value: (node) => node.state_time, show: (node) => <Ago time={node.state_time} now={now} /> },
  ];
}

/** Where a node is reached. */
function addressOf(node: NodeRecord): string {
  const address = [node['public_ipv4'], node['public_ipv6'], node['private_ipv4']].map(textOf).find(Boolean) ?? '';
  const port = node['connection_port'];
  return address !== '' && port !== 22 && typeof port === 'number' ? `${address} port ${port}` : address;
}

/** All nodes. */
export function NodeList({ state, now }: ListProps) {
  const nodes = usePolled<readonly NodeRecord[]>('nodes');
  if (!nodes) return <p>Reading …</p>;
  return (
    <Section title="Nodes">
      <DataTable
        caption="All nodes"
        columns={nodeColumns(now)}
        rows={nodes}
        lead="Who has it"
        filterName="State"
        filterBy={(node) => node.state}
        filter={state}
        setFilter={(next) => goTo('nodes', next)}
      />
    </Section>
  );
}

/** @param shown - requests of the overview, of which the reason is known in full */
function requestColumns(now: number, shown: readonly RequestLine[]): readonly DataColumn<RequestRecord>[] {
  const reasons = new Map(shown.map(({ id, why }) => [id, withoutSubject(why, id)]));
  const why = ({ id, launch_error: error, reasons: declines }: RequestRecord) =>
    error ?? reasons.get(id) ?? declines.map(({ text }) => text).join('; ');
  return [
    {
      name: 'Request',
      value: ({ id }) => id,
      show: ({ id }) => <a href={`#/requests/${encodeURIComponent(id)}`}>{id}</a>,
    },
    { name: 'State', value: ({ state }) => state, show: ({ state }) => <State name={state} /> },
    { name: 'Labels', value: ({ labels }) => labels.join(', ') },
    {
      name: 'Requested by',
      value: (r) => [r.requestor, r.tenant_name && `tenant ${r.tenant_name}`].filter(Boolean).join(', '),
    },
    { name: 'Ahead', value: ({ position }) => position },
    { name: 'Created', value: (r) => numberOf(r.created_time), show: (r) => <Ago time={r.created_time} now={now} /> },
    { name: 'Why not yet', value: why, show: (request) => <span class="clamp">{why(request)}</span> },
  ];
}

/** All requests. */
export function RequestList({ state, now, shown }: ListProps & { readonly shown: readonly RequestLine[] }) {
  const requests = usePolled<readonly RequestRecord[]>('requests');
  if (!requests) return <p>Reading …</p>;
  return (
    <Section title="Requests">
      <DataTable
        caption="All requests"
        columns={requestColumns(now, shown)}
        rows={requests}
        lead="Why not yet"
        filterName="State"
        filterBy={(request) => request.state}
        filter={state}
        setFilter={(next) => goTo('requests', next)}
      />
    </Section>
  );
}

function hostColumns(now: number): readonly DataColumn<Host>[] {
  return [
    { name: 'Host', value: ({ host }) => host },
    { name: 'Health', value: ({ health }) => health, show: ({ health }) => <State name={health} /> },
    { name: 'Login', value: ({ username, host, port }) => `${username}@${host}${port === 22 ? '' : `:${port}`}` },
    { name: 'Labels', value: ({ labels }) => labels.join(', ') },
    { name: 'Who has it', value: ({ nodes }) => nodes.flatMap(({ user }) => user ?? []).join(', ') },
    { name: 'Provider', value: ({ provider, pool }) => `${provider} / ${pool}` },
    { name: 'Last check', value: (h) => h.last_check, show: (h) => <Ago time={h.last_check} now={now} /> },
    { name: 'Why', value: ({ message }) => message, show: ({ message }) => <span class="clamp">{message}</span> },
  ];
}

/** Machines that are lent. */
export function HostList({ state, now }: ListProps) {
  const hosts = usePolled<readonly Host[]>('hosts');
  if (!hosts) return <p>Reading …</p>;
  return (
    <Section title="Hosts">
      <DataTable
        caption="All hosts"
        columns={hostColumns(now)}
        rows={hosts}
        lead="Why"
        filterName="Health"
        filterBy={({ health }) => health}
        filter={state}
        setFilter={(next) => goTo('hosts', next)}
      />
    </Section>
  );
}
