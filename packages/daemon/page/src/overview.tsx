import { useAccess } from './access.js';
import { Orders } from './orders.js';
import { Attention } from './attention.js';
import { Ago, Meter, Section, State, Table } from './parts.js';
import { StandbySection } from './standby.js';
import { amounts, clock, duration, length } from './text.js';
import { toneOf, withoutSubject } from './words.js';
import { WriteButton } from './write.js';
import type { Counts, Image, Label, Launches, Overview, Pool, Provider, RequestLine, Trouble } from './types.js';

/** In the order a node goes through them. */
const STATES = ['init', 'building', 'testing', 'ready', 'in-use', 'used', 'hold', 'deleting', 'failed', 'aborted'];

/** Everything at a glance. */
export function OverviewPage({ overview, now }: { overview: Overview; now: number }) {
  const { nodes, requests, providers, pools, labels, launches, images, errors, controls } = overview;
  return (
    <>
      <Attention overview={overview} now={now} />
      {nodes && <Nodes nodes={nodes} />}
      {requests && <RequestSection requests={requests} now={now} />}
      {controls && <Orders controls={controls} now={now} />}
      {providers && (
        <Section title="Providers">
          <Providers providers={providers} />
        </Section>
      )}
      {pools && (
        <Section title="Pools">
          <Pools pools={pools} />
        </Section>
      )}
      {labels && (
        <Section title="Labels">
          <Labels labels={labels} />
        </Section>
      )}
      {labels && <StandbySection />}
      {launches && <LaunchSection launches={launches} now={now} />}
      <Section title="Images">
        <Images images={images} now={now} />
      </Section>
      <Section title="Errors">
        <Errors errors={errors} />
      </Section>
    </>
  );
}

function RequestSection({ requests, now }: { requests: NonNullable<Overview['requests']>; now: number }) {
  const { waiting, pending, shown } = requests;
  return (
    <Section title="Requests" note={`${waiting} waiting, ${pending} being served`}>
      <Requests lines={shown} now={now} />
      {waiting + pending > shown.length && (
        <p class="note">
          The first {shown.length} are shown. <a href="#/requests">All requests</a>
        </p>
      )}
    </Section>
  );
}

function Nodes({ nodes }: { nodes: Counts }) {
  const others = Object.keys(nodes).filter((state) => !STATES.includes(state));
  const total = Object.values(nodes).reduce((sum, n) => sum + n, 0);
  return (
    <Section title="Nodes" note={`${total} in all`}>
      <ul class="states">
        {[...STATES, ...others].map((state) => (
          <li class={nodes[state] ? toneOf(state) : 'zero'}>
            <a href={`#/nodes?state=${encodeURIComponent(state)}`}>
              <span class="count">{nodes[state] ?? 0}</span> {state}
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Requests({ lines, now }: { lines: readonly RequestLine[]; now: number }) {
  return (
    <Table
      caption="Requests that are not fulfilled, and why"
      lead="Why"
      columns={['Request', 'Labels', 'Age', 'Ahead', 'Tenant', 'Why']}
      rows={lines.map((line) => [
        <a href={`#/requests/${encodeURIComponent(line.id)}`}>{line.id}</a>,
        line.labels.join(', '),
        <Ago time={line.created_time} now={now} />,
        line.position ?? 'accepted',
        line.tenant_name ?? '',
        <span class="clamp">{withoutSubject(line.why, line.id)}</span>,
      ])}
    />
  );
}

function Providers({ providers }: { providers: readonly Provider[] }) {
  return (
    <Table
      caption="Providers: demand and capacity"
      columns={['Provider', 'Driver', 'State', 'Instances', 'Nodes', 'Calls a minute', 'Failed calls, last hour']}
      rows={providers.map((p) => [
        p.name,
        p.driver ?? '',
        <>
          <State name={p.state} /> {p.error}
        </>,
        <Meter used={p.used?.['instances'] ?? 0} limit={p.limits?.['instances'] ?? p.max_servers} />,
        amounts(p.nodes),
        p.api.calls_per_minute.toFixed(1),
        p.api.failed_last_hour,
      ])}
    />
  );
}

function Pools({ pools }: { pools: readonly Pool[] }) {
  return (
    <Table
      caption="Pools of all launchers; figures of the ones of this launcher"
      columns={[
        'Pool',
        'Capacity',
        'Launcher',
        'Instances',
        'Requests served',
        'Requests waiting',
        'Reserved for',
        'Labels',
      ]}
      rows={pools.map((p) => [
        `${p.provider} / ${p.pool}`,
        p.paused ? <State name="full" tone="warn" /> : <State name="open" tone="good" />,
        p.hostname,
        p.own ? <Meter used={p.used?.['instances'] ?? 0} limit={p.max_servers} /> : 'elsewhere',
        p.handling ?? '',
        p.waiting ?? '',
        p.reservations?.map(({ request, need }) => `${request}: ${amounts(need)}`).join('; ') ?? '',
        p.labels.join(', '),
      ])}
    />
  );
}

function Labels({ labels }: { labels: readonly Label[] }) {
  return (
    <Table
      caption="Labels: supply and demand"
      columns={['Label', 'Ready', 'Building', 'In use', 'Held', 'Requests waiting', 'Usual wait', 'Kept ready']}
      rows={labels.map((l) => [
        ...[l.label, l.ready, l.building, l.in_use, l.hold, l.waiting],
        ...[l.usual_wait === null ? '' : length(l.usual_wait), l.min_ready ?? 0],
      ])}
    />
  );
}

const CHART = { width: 600, height: 80, minutes: 60 };

function LaunchSection({ launches, now }: { launches: Launches; now: number }) {
  const { ready, failed, p50, p95, minutes } = launches;
  const most = Math.max(1, ...minutes.map((m) => m.ready + m.failed));
  const from = Math.floor(now / 60) * 60 - (CHART.minutes - 1) * 60;
  const step = CHART.width / CHART.minutes;
  const note =
    `Last hour: ${ready} ready, ${failed} failed` +
    (p50 === null || p95 === null ? '' : `; half took up to ${duration(p50)}, 95 of 100 up to ${duration(p95)}`);
  const bar = (time: number, below: number, n: number, name: string) => {
    const height = (n / most) * CHART.height;
    const y = CHART.height - (below / most) * CHART.height - height;
    return <rect class={name} x={((time - from) / 60) * step} y={y} width={step - 1} height={height} />;
  };
  return (
    <Section title="Launches" note={note}>
      <svg viewBox={`0 0 ${CHART.width} ${CHART.height}`} role="img" aria-label={`Launches a minute. ${note}`}>
        {minutes.map((m) => [bar(m.time, 0, m.ready, 'good'), bar(m.time, m.ready, m.failed, 'bad')])}
      </svg>
    </Section>
  );
}

function Images({ images, now }: { images: readonly Image[]; now: number }) {
  const { mayWrite } = useAccess();
  const rows = images.map((image) => {
    const newest = image.builds.filter(({ state }) => state === 'ready').sort((a, b) => b.state_time - a.state_time)[0];
    const building = image.builds.some(({ state }) => state === 'building');
    const state = [
      image.paused && ['paused', image.pause_reason].filter(Boolean).join(': '),
      newest?.canary && `newest ${newest.canary}`,
      building && 'building',
      image.build_requested_time !== null && 'build requested',
    ];
    const uploads = newest?.uploads.map(
      ({ provider, state: s, tested, serves }) =>
        `${provider}: ${s}${typeof tested === 'boolean' ? `, ${tested ? '' : 'un'}tested` : ''}${serves ? ', serves' : ''}`,
    );
    for (const build of image.builds) {
      for (const { provider, serves } of build === newest ? [] : build.uploads) {
        if (serves) uploads?.push(`${provider}: build ${build.id} serves`);
      }
    }
    return [
      image.name,
      state.filter(Boolean).join(', '),
      newest ? <Ago time={newest.state_time} now={now} /> : <State name="no build is ready" tone="bad" />,
      newest?.reason ?? '',
      newest?.duration ? duration(newest.duration) : '',
      newest?.formats.map((format) => sizeText(format, newest.sizes?.[format])).join(', ') ?? '',
      uploads?.join('; ') ?? '',
      ...(mayWrite ? [<BuildButton image={image.name} />] : []),
    ];
  });
  return (
    <Table
      caption="Images and their newest build"
      columns={['Image', 'State', 'Built', 'Because', 'Took', 'Formats', 'Uploads', ...(mayWrite ? ['Build'] : [])]}
      rows={rows}
    />
  );
}

/** A format, with the size of its file if the builder has noted it. */
function sizeText(format: string, bytes: number | undefined): string {
  return bytes === undefined ? format : `${format} (${(bytes / 1_048_576).toFixed(0)} MiB)`;
}

function BuildButton({ image }: { image: string }) {
  const write = { method: 'POST', path: `images/${encodeURIComponent(image)}/build` } as const;
  return <WriteButton name={`Build ${image}`} write={write} done="Requested" />;
}

function Errors({ errors }: { errors: readonly Trouble[] }) {
  const rows = errors.map(({ time, provider, node, text }) => [
    time === null ? 'now' : clock(new Date(time * 1000)),
    provider ?? '',
    node ? <a href={`#/nodes/${encodeURIComponent(node)}`}>{node}</a> : '',
    text,
  ]);
  return <Table caption="Errors, newest first" columns={['When', 'Provider', 'Node', 'What']} rows={rows} />;
}
